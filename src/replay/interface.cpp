#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "replay/evaluate.hpp"
#include "replay/reader.hpp"
#include "replay/replay.h"

namespace replay = damaris::replay;

struct dr_plan {
  std::uint64_t recorded = 0;
  replay::Times times;
  std::vector<std::uint32_t> numbers, lines;
};

namespace {

// What the function makes, or NULL and why not.
template <class Read>
dr_plan* guarded(char* error, std::size_t room, Read read) noexcept try {
  const replay::Plan plan = read();
  auto made = std::make_unique<dr_plan>();
  made->recorded = plan.recorded_ns;
  made->times = replay::evaluate(plan);
  for (const replay::Process& one : plan.processes) made->numbers.push_back(one.number);
  made->lines.reserve(plan.operations.size());
  for (const replay::Operation& one : plan.operations) made->lines.push_back(one.line);
  return made.release();
} catch (const std::exception& thrown) {
  if (room > 0) {
    const std::size_t bytes = std::min(std::strlen(thrown.what()), room - 1);
    std::memcpy(error, thrown.what(), bytes);
    error[bytes] = '\0';
  }
  return nullptr;
}

template <class Item>
const Item* shown(const std::vector<Item>& items, std::size_t* count) {
  *count = items.size();
  return items.data();
}

}  // namespace

dr_plan* dr_read(const char* text, size_t bytes, char* error, size_t room) {
  return guarded(error, room, [=] { return replay::read_plan({text, bytes}, "plan"); });
}
dr_plan* dr_open(const char* path, char* error, size_t room) {
  return guarded(error, room, [=] { return replay::read_plan_file(path); });
}
void dr_close(dr_plan* plan) { delete plan; }
uint64_t dr_total(const dr_plan* plan) { return plan->times.total; }
uint64_t dr_recorded(const dr_plan* plan) { return plan->recorded; }
const uint64_t* dr_ends(const dr_plan* plan, size_t* processes) { return shown(plan->times.ends, processes); }
const uint32_t* dr_numbers(const dr_plan* plan, size_t* processes) { return shown(plan->numbers, processes); }
const uint64_t* dr_waits(const dr_plan* plan, size_t* operations) { return shown(plan->times.waits, operations); }
const uint32_t* dr_lines(const dr_plan* plan, size_t* operations) { return shown(plan->lines, operations); }
