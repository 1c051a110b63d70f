#include "write/sample_page.hpp"

#include <unistd.h>

#include <new>

#include "core/base/format.hpp"
#include "core/shm/layout.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kFirstSample = shm::round_up(sizeof(Barrier), shm::kLine);

std::size_t samples_of_a_round(const WritePlan& plan) {
  std::size_t samples = 0;
  for (const SizeCase& size : plan.sizes) samples += 2 * static_cast<std::size_t>(size.repeats);
  return samples;
}

shm::SharedMemory make_page(std::size_t samples) {
  const std::uint64_t bytes = kFirstSample + samples * sizeof(Sample);
  shm::SharedMemory memory = shm::SharedMemory::create(format("/damaris.bench.{}.{}", ::geteuid(), ::getpid()), bytes, bytes);
  memory.unlink_name();  // the clients inherit the mapping
  return memory;
}

}  // namespace

SamplePage::SamplePage(int clients, const WritePlan& plan)
    : memory_(make_page(static_cast<std::size_t>(clients * plan.rounds) * samples_of_a_round(plan))),
      clients_(clients),
      rounds_(plan.rounds),
      round_samples_(samples_of_a_round(plan)) {
  for (const SizeCase& size : plan.sizes) repeats_.push_back(size.repeats);
  new (memory_.data()) Barrier(clients);
}

Barrier& SamplePage::barrier() const noexcept { return *std::launder(reinterpret_cast<Barrier*>(memory_.data())); }

Sample& SamplePage::at(int client, int round, const Place& place) const noexcept {
  std::size_t index = static_cast<std::size_t>(client * rounds_ + round) * round_samples_;
  for (std::size_t size = 0; size < place.size; ++size) index += 2 * static_cast<std::size_t>(repeats_[size]);
  index += static_cast<std::size_t>((place.is_write ? repeats_[place.size] : 0) + place.repeat);
  return reinterpret_cast<Sample*>(memory_.data() + kFirstSample)[index];
}

Samples SamplePage::all(std::size_t size, bool is_write) const {
  Samples samples;
  for (int client = 0; client < clients_; ++client)
    for (int round = 0; round < rounds_; ++round)
      for (int repeat = 0; repeat < repeats_[size]; ++repeat) samples.add(at(client, round, {size, is_write, repeat}));
  return samples;
}

}  // namespace damaris::bench
