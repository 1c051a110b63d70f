#include "view_names.hpp"

#include <sstream>

namespace damaris::hdf5 {
namespace {

// "time", "time_1", "time_2": the first one has no number.
std::string numbered(const std::string& name, std::size_t number) {
  return number == 0 ? name : name + "_" + std::to_string(number);
}

// In three dimensions or fewer, the last is x.
std::string dimension_name(int dimension, int ndims) {
  if (ndims > 3) return std::to_string(dimension);
  return std::string(1, "zyx"[3 - ndims + dimension]);
}

// What arrays with the same dimensions have in common. Lists of one length are often of different things.
std::pair<std::string, std::vector<std::int64_t>> space_of(const GlobalArray& array) {
  std::vector<std::int64_t> numbers;
  for (int d = 0; d < array.box.ndims; ++d) {
    numbers.push_back(array.box.low[d]);
    numbers.push_back(array.box.extent(d));
  }
  return {array.box.ndims > 1 ? "" : array.variable->layout, numbers};
}

}  // namespace

ViewNames::ViewNames(const GlobalView& view, const dc_host_t& host) {
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    std::istringstream path(host.variables[i].path);
    for (std::string part; std::getline(path, part, '/');) taken_.insert(part);
  }
  steps_ = free("steps");
  for (std::size_t axis = 0; axis < view.axes.size(); ++axis) {
    times_.push_back(free(numbered("time", axis)));
    iterations_.push_back(free(numbered("iteration", axis)));
  }
  for (const GlobalArray& array : view.arrays) dimensions_.push_back(dimensions_of(array));
}

const std::vector<std::string>& ViewNames::dimensions_of(const GlobalArray& array) {
  const std::string layout = array.variable->layout;
  const auto [found, fresh] = known_.emplace(space_of(array), std::vector<std::string>());
  if (!fresh) return found->second;
  const std::string stem = numbered(layout, shapes_[layout]++);
  for (int d = 0; d < array.box.ndims; ++d) found->second.push_back(free(stem + "_" + dimension_name(d, array.box.ndims)));
  return found->second;
}

std::string ViewNames::free(std::string wanted) {
  while (!taken_.insert(wanted).second) wanted += "_";
  return wanted;
}

}  // namespace damaris::hdf5
