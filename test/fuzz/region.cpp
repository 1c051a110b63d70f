// A region as a crashed or malicious process may have left it: attach, and all that looks at a dead region.
#include <damaris/error.hpp>

#include <cstring>
#include <memory>

#include "core/shm/arena.hpp"
#include "core/shm/busy.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/region.hpp"
#include "fuzz.hpp"

using namespace damaris;
using fuzz::Input;
using fuzz::require;

namespace {

// On the heap, so that the sanitizer guards its first and its last byte.
class Memory {
 public:
  explicit Memory(std::size_t size) : size_(size), bytes_(static_cast<std::byte*>(::aligned_alloc(shm::kLine, size))) {}
  ~Memory() { std::free(bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::byte* bytes_;
};

// Two clients, one block published by the first.
shm::Region make_region() {
  shm::RegionSpec spec;
  spec.simulation = "fuzz";
  spec.xml = "<simulation/>";
  spec.model = "{}";
  spec.clients = 2;
  spec.lane_events = 4;
  spec.buffer_bytes = 4 * shm::kPage;
  shm::Region region = shm::Region::create(spec);
  for (std::uint32_t client = 0; client < 2; ++client) {
    shm::Arena arena(region.at(region.span(client).arena_offset), region.span(client).arena_bytes, region.lane(client));
    arena.try_reserve(100)->state.store(static_cast<std::uint32_t>(shm::BlockState::published));
    region.slot(client).state.store(static_cast<std::uint32_t>(shm::SlotState::attached));
  }
  region.announce();
  return region;
}

const shm::Region& whole_region() {
  static const shm::Region region = make_region();
  return region;
}

// Where a change hits the most: anywhere in the header, the spans, a slot, a lane or the begin of an arena.
std::uint64_t place_of(Input& input, const shm::Region& region) {
  const shm::RegionHeader& header = region.header();
  const auto client = static_cast<std::uint32_t>(input.below(2));
  const std::uint64_t bases[] = {0, header.spans_offset, header.slots_offset, region.span(client).lane_offset,
                                 region.span(client).arena_offset};
  return bases[input.below(std::size(bases))] + input.take<std::uint16_t>() % 1024;
}

void damage(Input& input, const shm::Region& whole, Memory& memory) {
  while (!input.empty()) {
    const std::uint64_t place = place_of(input, whole);
    const std::string_view bytes = input.take_bytes(1 + input.below(8));
    if (!bytes.empty() && place + bytes.size() <= memory.size()) std::memcpy(memory.data() + place, bytes.data(), bytes.size());
  }
}

std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 0;
  for (const char c : bytes) sum += static_cast<unsigned char>(c);
  return sum;
}

void look_at_lane(const shm::Region& region, std::uint32_t lane) {
  const shm::LaneSpan& span = region.span(lane);
  std::uint64_t end = 0;
  shm::walk_arena(region.at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t offset) {
    require(offset == end, "blocks follow each other");
    end = offset + block.size_bytes.load();
    require(end <= span.arena_bytes, "a block lies in its arena");
    sum_of({reinterpret_cast<const char*>(&block), static_cast<std::size_t>(block.size_bytes.load())});
  });
  shm::LaneReader reader(region.lane(lane), region.lane_events());
  event::Event event;
  std::uint64_t taken = 0;
  while (reader.try_take(event)) ++taken;
  require(taken <= region.lane_events(), "a lane holds no more than its ring");
}

void look_at(const shm::Region& region) {
  sum_of(region.xml());
  sum_of(region.model());
  shm::busy_with(region.header());
  region.unreleased_blocks();
  for (std::uint32_t client = 0; client < region.client_count(); ++client)
    for (std::uint32_t mails = 0; mails < 2 * shm::kMails; ++mails)
      if (!shm::try_take_mail(region.slot(client), INT64_MAX)) break;
  for (std::uint32_t lane = 0; lane < region.client_count() * region.threads(); ++lane) look_at_lane(region, lane);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const shm::Region& whole = whole_region();
  const std::size_t cut = input.take<std::uint8_t>() < 16 ? input.take<std::uint16_t>() % whole.header().total_bytes : 0;
  Memory memory(shm::round_up(whole.header().total_bytes - cut, shm::kLine));
  std::memcpy(memory.data(), whole.at(0), memory.size());
  damage(input, whole, memory);
  try {
    look_at(shm::Region::attach(shm::SharedMemory::lent(memory.data(), memory.size())));
  } catch (const Error& error) {
    require(error.code() == DC_E_SHM || error.code() == DC_E_VERSION, "a damaged region is DC_E_SHM", error.sentence());
  }
  return 0;
}
