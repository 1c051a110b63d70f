#include "core/shm/losses.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::shm {
namespace {

std::string text_of(const StepRange& steps) {
  return steps.first == steps.last ? format("step {}", steps.first) : format("steps {} to {}", steps.first, steps.last);
}

const char* were(const StepRange& steps) { return steps.first == steps.last ? "was" : "were"; }

}  // namespace

std::optional<StepRange> Losses::range() const {
  const std::optional<StepRange> other = given_up.range();
  if (!left_out || !other) return left_out ? left_out : other;
  return StepRange{std::min(left_out->first, other->first), std::max(left_out->last, other->last)};
}

std::string Losses::text() const {
  std::string text;
  if (left_out) text = format("writes of {} were left out for want of room", text_of(*left_out));
  if (const auto steps = given_up.range())
    text += format("{}{} {} given up", left_out ? ", and " : "", text_of(*steps), were(*steps));
  return text;
}

Losses losses_of(const RegionHeader& header) { return {lacks_writes(header), given_up_unrecorded(header)}; }

}  // namespace damaris::shm
