#include "packings.hpp"

#include <cmath>

namespace damaris::hdf5 {

reduce::Packing Packings::choose(std::uint32_t variable, const reduce::Range<double>& range) {
  constexpr double kWorse = 2;
  const reduce::Packing fitting = reduce::packing_for(range);
  const auto before = chosen_.find(variable);
  if (before != chosen_.end() && reduce::rounding_error(range, before->second) <= kWorse * reduce::rounding_error(range, fitting))
    return before->second;
  const bool holds = std::isfinite(reduce::rounding_error(range, fitting));
  if (range.finite && (range.min != 0 || range.max != 0) && holds) chosen_[variable] = fitting;
  return fitting;
}

}  // namespace damaris::hdf5
