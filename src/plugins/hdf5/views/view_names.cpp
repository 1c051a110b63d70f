#include "view_names.hpp"

#include <algorithm>

namespace damaris::hdf5 {
namespace {

// "time", "time_1", "time_2": the first one has no number.
std::string numbered(const std::string& name, std::size_t number) {
  return number == 0 ? name : name + "_" + std::to_string(number);
}

// In three dimensions or fewer, the last is x. A stack has its blocks in front.
std::string dimension_name(int dimension, int ndims) {
  if (ndims > 3) return std::to_string(dimension);
  return std::string(1, "zyx"[3 - ndims + dimension]);
}

std::string dimension_name(int dimension, const GlobalArray& array) {
  if (!array.is_stack()) return dimension_name(dimension, array.box.ndims);
  return dimension == 0 ? "block" : dimension_name(dimension - 1, array.box.ndims - 1);
}

// The last names of all groups and variables, and how many have each.
std::map<std::string, std::size_t> users_of_names(const dc_host_t& host) {
  std::set<std::string> paths;
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const std::string path = host.variables[i].path;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      paths.insert(path.substr(0, end));
    paths.insert(path);
  }
  std::map<std::string, std::size_t> users;
  for (const std::string& path : paths) ++users[path.substr(path.rfind('/') + 1)];
  return users;
}

// What arrays with the same dimensions have in common. Lists of one length are often of different things.
std::pair<std::string, std::vector<std::int64_t>> space_of(const GlobalArray& array) {
  std::vector<std::int64_t> numbers;
  for (int d = 0; d < array.box.ndims; ++d) {
    numbers.push_back(array.box.low[d]);
    numbers.push_back(array.box.extent(d));
    numbers.push_back(array.coordinates[static_cast<std::size_t>(d)]);
  }
  if (!array.is_stack()) return {array.box.ndims > 1 ? "" : array.variable->layout, numbers};
  numbers.insert(numbers.end(), array.sources.begin(), array.sources.end());
  numbers.insert(numbers.end(), array.blocks.begin(), array.blocks.end());
  return {array.variable->layout, numbers};
}

}  // namespace

ViewNames::ViewNames(const GlobalView& view, const dc_host_t& host) {
  const std::map<std::string, std::size_t> users = users_of_names(host);
  for (const auto& [name, count] : users) taken_.insert(name);
  for (std::size_t axis = 0; axis < view.axes.size(); ++axis) {
    times_.push_back(free(numbered("time", axis)));
    iterations_.push_back(free(numbered("iteration", axis)));
  }
  for (const GlobalArray& coordinate : view.coordinates) {
    const std::string name = coordinate.variable->name;
    coordinates_.push_back(users.at(name) == 1 ? name : free(name));  // nothing else has it: then it stands for the same everywhere
  }
  for (const GlobalArray& array : view.arrays) dimensions_.push_back(dimensions_of(array));
}

const std::vector<std::string>& ViewNames::dimensions_of(const GlobalArray& array) {
  const std::string layout = array.variable->layout;
  const auto [found, fresh] = known_.emplace(space_of(array), std::vector<std::string>());
  if (!fresh) return found->second;
  const bool labelled =
      std::all_of(array.coordinates.begin(), array.coordinates.end(), [](int coordinate) { return coordinate >= 0; });
  const std::string stem = labelled ? "" : numbered(layout, shapes_[layout]++);
  for (int d = 0; d < array.box.ndims; ++d) {
    const int coordinate = array.coordinates[static_cast<std::size_t>(d)];
    found->second.push_back(coordinate < 0 ? free(stem + "_" + dimension_name(d, array))
                                           : coordinates_[static_cast<std::size_t>(coordinate)]);
  }
  return found->second;
}

std::string ViewNames::free(std::string wanted) {
  while (!taken_.insert(wanted).second) wanted += "_";
  return wanted;
}

}  // namespace damaris::hdf5
