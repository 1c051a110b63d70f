#include "view_names.hpp"

#include <map>
#include <sstream>
#include <tuple>

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

std::vector<std::int64_t> extents_of(const Box& box) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < box.ndims; ++d) extents.push_back(box.extent(d));
  return extents;
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
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<std::string>> known;
  std::map<std::string, std::size_t> shapes;  // layout -> different shapes so far
  for (const GlobalArray& array : view.arrays) {
    const std::string layout = array.variable->layout;
    const auto [found, fresh] = known.emplace(std::make_pair(layout, extents_of(array.box)), std::vector<std::string>());
    if (fresh) {
      const std::string stem = numbered(layout, shapes[layout]++);
      for (int d = 0; d < array.box.ndims; ++d) found->second.push_back(free(stem + "_" + dimension_name(d, array.box.ndims)));
    }
    dimensions_.push_back(found->second);
  }
}

std::string ViewNames::free(std::string wanted) {
  while (!taken_.insert(wanted).second) wanted += "_";
  return wanted;
}

}  // namespace damaris::hdf5
