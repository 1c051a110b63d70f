#include "model/explorer.hpp"

#include "core/shm/doorbell.hpp"
#include "model/heap.hpp"
#include "model/run.hpp"

namespace damaris::explorer {

Outcome explore(const Make& make, const Options& options) {
  alignas(4096) static std::byte bytes[kMemoryBytes];
  heap.begin(bytes);
  Memory memory(bytes);
  std::vector<std::byte> stacks(kMostThreads * kStackBytes);
  Choices choices;
  Outcome outcome;
  do {
    memory.forget();
    heap.empty();
    const std::unique_ptr<Scenario> scenario = make(bytes);
    Run run(*scenario, memory, options, choices, stacks);
    run.execute();
    ++(run.pruned() ? outcome.pruned : outcome.runs);
    if (!run.error().empty()) {
      outcome.error = run.error();
      outcome.trace = run.trace();
      return outcome;
    }
    if (outcome.runs + outcome.pruned >= options.most_runs) outcome.error = "the scenario has too many orders";
  } while (outcome.error.empty() && choices.advance());
  return outcome;
}

void expect(bool holds, const std::string& property) {
  if (holds) return;
  if (active != nullptr) active->fail(property);
  throw Broken{property};
}

void wait_for_change() { active->wait_for_change(); }
bool is_dead(int thread) { return active->look_for_death(thread); }

// What the hooks call.
bool watches(const void* address) { return active != nullptr && active->memory().holds(address); }

std::uint64_t hooked_load(const void* address, std::size_t bytes, Order order) {
  return active->load(active->memory().offset(address), bytes, order);
}
void hooked_store(void* address, std::size_t bytes, std::uint64_t value, Order order) {
  active->store(active->memory().offset(address), bytes, value, order);
}
std::uint64_t hooked_update(void* address, std::size_t bytes, Order order,
                            const std::function<std::uint64_t(std::uint64_t)>& change) {
  return active->update(active->memory().offset(address), bytes, order, change);
}
std::uint64_t hooked_exchange(void* address, std::size_t bytes, std::uint64_t expected, std::uint64_t value, Order order,
                              Order if_other) {
  return active->exchange(active->memory().offset(address), bytes, {expected, value, order, if_other});
}
void hooked_plain(const void* address, std::size_t bytes, bool is_write) {
  if (watches(address)) active->plain(active->memory().offset(address), bytes, is_write);
}

}  // namespace damaris::explorer

// The kernel's part: a sleep ends with a wake only, as if no time-out ever came.
namespace damaris::shm {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t) noexcept {
  explorer::active->sleep(explorer::active->memory().offset(&word), seen);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept { explorer::active->wake(explorer::active->memory().offset(&word)); }

}  // namespace damaris::shm
