#include "core/shm/sizes.hpp"

#include <algorithm>

namespace damaris::shm {
namespace {

constexpr std::uint64_t kSteps = 2;      // one is written while the server is busy with the one before
constexpr std::uint64_t kFewest = 1024;  // 64 KiB: more than one block of a variable, or more steps, where there are few variables
constexpr std::uint64_t kMost = 1u << 20;  // as in <lanes events>

std::uint64_t next_power_of_two(std::uint64_t value) {
  std::uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

}  // namespace

std::uint64_t step_messages(const model::Model& model) {
  constexpr std::uint64_t kOthers = 3;  // the end of the step, its time, a flush
  const auto& variables = model.variables;
  const auto enabled = std::count_if(variables.begin(), variables.end(), [](const model::Variable& v) { return v.enabled; });
  return static_cast<std::uint64_t>(enabled) + model.events.size() + kOthers;
}

// A written block takes kMinBlock or more of an arena, so with equal shares a lane with a message for each of them is never full first. It
// needs at most half the memory of its arena, rounded up to a power of two: many clients or threads do not multiply a long lane.
std::uint64_t lane_capacity(const model::Model& model, std::uint64_t clients) {
  const model::Architecture& a = model.architecture;
  if (a.lane_messages != 0) return a.lane_messages;
  const std::uint64_t arenas = std::max<std::uint64_t>(clients, 1) * static_cast<std::uint64_t>(a.threads);
  const std::uint64_t blocks = a.buffer_bytes / arenas / kMinBlock;
  return next_power_of_two(std::clamp(std::min(kSteps * step_messages(model), blocks), kFewest, kMost));
}

}  // namespace damaris::shm
