#include "global_view.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "common_scaling.hpp"
#include "manifest/views.hpp"

namespace damaris::hdf5 {
namespace {

// What each step has of one variable.
struct StoredInStep {
  std::int64_t step;
  const std::vector<StoredArray>* arrays;  // at least one; several do not make an array
};
using History = std::vector<StoredInStep>;

std::map<std::string, History> histories_of(const StepShapes& steps) {
  std::map<std::string, History> histories;
  for (const auto& [step, shape] : steps)
    for (const auto& [variable, arrays] : *shape.arrays) histories[variable].push_back({step, &arrays});
  return histories;
}

// Whether values of any step have a position; a scalar needs none.
bool has_positions(const History& history) {
  return std::any_of(history.begin(), history.end(), [](const StoredInStep& one) {
    return std::any_of(one.arrays->begin(), one.arrays->end(), [](const StoredArray& array) {
      return array.dataset.has_position && array.dataset.box.ndims > 0 && volume(array.dataset.box) > 0;
    });
  });
}

// Why the values of a dataset have no place in the array; "" if they have one. `placed`: those of some step have positions. A dataset
// without a position is the whole array if each step has only one, none of them with a position.
std::string why_no_place(const StoredInStep& in, const StoredArray& array, bool placed) {
  if (array.dataset.has_position) return "";
  if (in.arrays->size() > 1) return "a step has several blocks without a position; place them with dc_set_position";
  if (!placed || volume(array.dataset.box) == 0) return "";
  return "it has a position in some steps and none in " + file_of(array, in.step) + "; place it with dc_set_position in every step";
}

bool is_stacked(const History& history) { return history.front().arrays->front().dataset.is_stack(); }

// Checks that all steps have the same blocks with the same shape; "" if so.
std::string obstacle_of_stacks(const dc_variable_info_t& variable, const History& history) {
  const manifest::DatasetEntry& first = history.front().arrays->front().dataset;
  const auto is_same = [&](const StoredInStep& in) {
    const manifest::DatasetEntry& one = in.arrays->front().dataset;
    bool same = in.arrays->size() == 1 && one.sources == first.sources && one.blocks == first.blocks;
    same = same && one.box.ndims == variable.ndims + 1;
    for (int d = 1; same && d < one.box.ndims; ++d) same = one.box.extent(d) == first.box.extent(d);
    return same;
  };
  return std::all_of(history.begin(), history.end(), is_same)
             ? ""
             : "its blocks have no position and differ between steps; place them with dc_set_position";
}

// Why a dataset is in no common array; "" if it is.
std::string obstacle(const dc_variable_info_t& variable, const StoredInStep& in, const StoredArray& array, bool placed) {
  if (array.dataset.is_stack()) return "its blocks have no position and differ between steps; place them with dc_set_position";
  if (array.dataset.box.ndims != variable.ndims)
    return "it has " + std::to_string(array.dataset.box.ndims) + " dimensions in " + file_of(array, in.step) + " and " +
           std::to_string(variable.ndims) + " in the XML";
  return why_no_place(in, array, placed);
}

// Why there is no common array; "" if there is one.
std::string obstacle(const dc_variable_info_t& variable, const History& history) {
  if (is_stacked(history)) return obstacle_of_stacks(variable, history);
  const bool placed = has_positions(history);
  for (const StoredInStep& in : history)
    for (const StoredArray& array : *in.arrays)
      if (std::string why = obstacle(variable, in, array, placed); !why.empty()) return why;
  return "";
}

// A run that continues another one may declare a variable differently; HDF5 would convert the earlier values to the last type.
std::string other_declaration(const dc_variable_info_t& variable, const History& history, const StepShapes& steps) {
  const std::string now = manifest::declared_as(variable);
  const manifest::Declarations* same = nullptr;  // the last ones looked at
  for (const StoredInStep& in : history) {
    const auto& declared = steps.at(in.step).declared;
    if (!declared || declared.get() == same) continue;
    same = declared.get();
    const auto before = declared->find(variable.path);
    if (before != declared->end() && before->second != now)
      return "it is declared as " + before->second + " in step " + std::to_string(in.step) + " and as " + now + " in this run";
  }
  return "";
}

// `files` owns the names that the obstacle is made of.
CommonScaling scaling_of(const History& history, std::deque<manifest::FileEntry>& files) {
  CommonScaling scaling;
  const std::vector<StoredArray>* same = nullptr;
  for (const StoredInStep& in : history) {
    if (in.arrays == same) continue;
    same = in.arrays;
    for (const StoredArray& array : *in.arrays) {
      files.emplace_back().name = file_of(array, in.step);
      scaling.add(files.back(), array.dataset);
    }
  }
  return scaling;
}

Box box_of(const History& history) {
  std::vector<const StoredArray*> arrays;
  for (const StoredInStep& in : history)
    for (const StoredArray& array : *in.arrays) arrays.push_back(&array);
  return box_around(arrays);
}

// The file whose part lies farthest from zero.
std::string farthest_file(const History& history) {
  const auto reach = [](const StoredArray& array) {
    const Box& box = array.dataset.box;
    return *std::max_element(box.high.begin(), box.high.begin() + std::max(box.ndims, 1));
  };
  const StoredArray* farthest = &history.front().arrays->front();
  std::int64_t step = history.front().step;
  for (const StoredInStep& in : history)
    for (const StoredArray& array : *in.arrays)
      if (reach(array) > reach(*farthest)) std::tie(farthest, step) = std::pair(&array, in.step);
  return file_of(*farthest, step);
}

// HDF5 computes the size of an array, and of a dimension with 4 bytes an element, in 64 bits, and does not always notice an overflow. One
// such array must not cost the others their view.
std::string too_large(const dc_variable_info_t& variable, const History& history) {
  constexpr std::int64_t kLeastElement = 8;
  const std::int64_t element_bytes = std::max(static_cast<std::int64_t>(variable.element_bytes), kLeastElement);
  const auto steps = static_cast<std::int64_t>(history.size());
  if (volume(box_of(history)) <= std::numeric_limits<std::int64_t>::max() / element_bytes / steps) return "";
  return "one array of its global extents and all positions would be larger than HDF5 can address; the farthest part is in " +
         farthest_file(history) + "; check dc_set_position, and global in the XML";
}

GlobalArray array_of(const dc_variable_info_t& variable, const History& history, const CommonScaling& scaling) {
  GlobalArray array = {&variable, 0, box_of(history), {}, scaling.scale(), scaling.offset()};
  const manifest::DatasetEntry& first = history.front().arrays->front().dataset;
  array.sources = first.sources;
  array.blocks = first.blocks;
  for (const StoredInStep& in : history) array.steps.push_back(&in.arrays->front());
  return array;
}

// A time axis must be strictly increasing.
bool increase(const std::vector<double>& times) {
  const auto follows = [](double before, double time) { return !(before < time); };
  return std::all_of(times.begin(), times.end(), [](double time) { return std::isfinite(time); }) &&
         std::adjacent_find(times.begin(), times.end(), follows) == times.end();
}

TimeAxis axis_of(const std::vector<std::int64_t>& steps, const StepShapes& records) {
  TimeAxis axis = {steps, {}};
  for (const std::int64_t step : steps)
    if (const std::optional<double>& time = records.at(step).time) axis.times.push_back(*time);
  if (axis.times.size() < steps.size() || !increase(axis.times)) axis.times.clear();
  return axis;
}

std::vector<std::int64_t> steps_of(const History& history) {
  std::vector<std::int64_t> steps;
  for (const StoredInStep& in : history) steps.push_back(in.step);
  return steps;
}

// Sorts by number of variables, then length, then earliest start, so that the same manifest always gives the same order.
std::vector<std::vector<std::int64_t>> ordered(const std::map<std::vector<std::int64_t>, std::size_t>& users) {
  std::vector<std::vector<std::int64_t>> lists;
  for (const auto& [list, count] : users) lists.push_back(list);
  std::stable_sort(lists.begin(), lists.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(users.at(a), a.size()) > std::make_pair(users.at(b), b.size());
  });
  return lists;
}

// The coordinate of dimension `d`, if it covers the whole extent; else nullptr.
const GlobalArray* coordinate_of(const GlobalArray& array, int d, const std::vector<GlobalArray>& arrays) {
  if (array.variable->coordinate_count != array.box.ndims) return nullptr;
  const std::uint32_t id = array.variable->coordinates[d];
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const GlobalArray& one) { return one.variable->id == id; });
  if (found == arrays.end() || &*found == &array || found->box.ndims != 1) return nullptr;
  return found->box.low[0] == array.box.low[d] && found->box.high[0] == array.box.high[d] ? &*found : nullptr;
}

// Moves the arrays that label others to the view's coordinates.
void find_coordinates(GlobalView& view) {
  std::map<std::uint32_t, int> places;  // variable -> index in view.coordinates
  for (const GlobalArray& array : view.arrays)
    for (int d = 0; d < array.box.ndims; ++d)
      if (const GlobalArray* coordinate = coordinate_of(array, d, view.arrays); coordinate != nullptr)
        if (places.emplace(coordinate->variable->id, static_cast<int>(places.size())).second)
          view.coordinates.push_back(*coordinate);
  for (GlobalArray& array : view.arrays)
    for (int d = 0; d < array.box.ndims; ++d) {
      const GlobalArray* coordinate = coordinate_of(array, d, view.arrays);
      array.coordinates.push_back(coordinate == nullptr ? -1 : places.at(coordinate->variable->id));
    }
  const auto is_coordinate = [&](const GlobalArray& array) { return places.count(array.variable->id) > 0; };
  view.arrays.erase(std::remove_if(view.arrays.begin(), view.arrays.end(), is_coordinate), view.arrays.end());
}

// Assigns each array its axis.
void find_axes(GlobalView& view, const std::map<std::string, History>& histories, const StepShapes& steps) {
  std::map<std::vector<std::int64_t>, std::size_t> users;  // list of steps -> number of variables with it
  for (const GlobalArray& array : view.arrays) ++users[steps_of(histories.at(array.variable->path))];
  const auto lists = ordered(users);
  for (const auto& list : lists) view.axes.push_back(axis_of(list, steps));
  for (GlobalArray& array : view.arrays) {
    const auto own = std::find(lists.begin(), lists.end(), steps_of(histories.at(array.variable->path)));
    array.axis = static_cast<std::size_t>(own - lists.begin());
  }
}

}  // namespace

Box box_around(const std::vector<const StoredArray*>& steps) {
  const StoredArray* same = nullptr;
  std::vector<Box> box;  // at most one
  for (const StoredArray* const array : steps) {
    if (std::exchange(same, array) == array) continue;
    const Box shown = shown_box(*array);
    if (volume(shown) == 0 && array->dataset.global.empty()) continue;
    box = {box.empty() ? shown : bounding_box({box.front(), shown})};
  }
  return box.empty() ? steps.front()->dataset.box : box.front();
}

GlobalView global_view(const StepShapes& steps, const dc_host_t& host, bool labelled) {
  GlobalView view;
  const std::map<std::string, History> histories = histories_of(steps);
  std::set<std::string> known;
  std::deque<manifest::FileEntry> files;
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const dc_variable_info_t& variable = host.variables[i];
    const auto found = histories.find(variable.path);
    if (found == histories.end()) continue;
    known.insert(variable.path);
    const CommonScaling scaling = scaling_of(found->second, files);
    std::string why = obstacle(variable, found->second);
    if (why.empty()) why = other_declaration(variable, found->second, steps);
    if (why.empty()) why = too_large(variable, found->second);
    if (!why.empty())
      view.not_shown.push_back({variable.path, why});
    else if (!scaling.obstacle().empty())
      view.not_shown.push_back({variable.path, scaling.obstacle(), true});
    else
      view.arrays.push_back(array_of(variable, found->second, scaling));
    files.clear();
  }
  for (const auto& [variable, history] : histories)
    if (known.count(variable) == 0) view.not_shown.push_back({variable, "the XML of this run does not declare it"});
  if (labelled)
    find_coordinates(view);
  else
    for (GlobalArray& array : view.arrays) array.coordinates.assign(static_cast<std::size_t>(array.box.ndims), -1);
  find_axes(view, histories, steps);
  return view;
}

}  // namespace damaris::hdf5
