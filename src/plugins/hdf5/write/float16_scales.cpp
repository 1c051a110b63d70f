#include "float16_scales.hpp"

#include <cmath>

namespace damaris::hdf5 {

codec::Scaling Float16Scales::choose(std::uint32_t variable, const codec::Range<double>& range) {
  constexpr double kWorse = 2;
  const codec::Scaling fitting = codec::scaling_for(range);
  const auto before = chosen_.find(variable);
  if (before != chosen_.end() && codec::rounding_error(range, before->second) <= kWorse * codec::rounding_error(range, fitting))
    return before->second;
  const bool holds = std::isfinite(codec::rounding_error(range, fitting));
  if (range.finite && (range.min != 0 || range.max != 0) && holds) chosen_[variable] = fitting;
  return fitting;
}

}  // namespace damaris::hdf5
