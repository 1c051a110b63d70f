#include "global_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "../layout/pieces.hpp"

namespace damaris::hdf5 {
namespace {

enum Fit { kNothing, kItsOffset, kItsScale };  // what must be equal

Fit fit_of(const manifest::DatasetEntry& dataset) {
  if (!dataset.scale) return kItsScale;
  if (!dataset.min || !dataset.max) return kNothing;
  return *dataset.min == 0 && *dataset.max == 0 && dataset.offset.value_or(0) == 0 ? kItsOffset : kItsScale;
}

bool go_together(const manifest::DatasetEntry& a, const manifest::DatasetEntry& b) {
  if (a.scale.has_value() != b.scale.has_value()) return false;
  const Fit fit = std::min(fit_of(a), fit_of(b));
  return fit == kNothing || (a.offset == b.offset && (fit == kItsOffset || a.scale == b.scale));
}

bool asked_for_16_bits(const manifest::DatasetEntry& dataset) { return dataset.reduce.rfind("float16", 0) == 0; }

std::string why_not(const manifest::FileEntry& one, const manifest::DatasetEntry& a, const manifest::FileEntry& other,
                    const manifest::DatasetEntry& b) {
  if (a.scale && b.scale)
    return "its 16-bit parts have different scales and offsets (" + one.name + " and " + other.name +
           "); give common ones with float16:SCALE:OFFSET in the XML";
  const manifest::FileEntry& wide_file = a.scale ? other : one;
  const manifest::DatasetEntry& wide = a.scale ? b : a;
  if (asked_for_16_bits(wide))
    return "its values overflow 16 bits in " + wide_file.name +
           " and keep their type there (:keep); use a larger SCALE in float16:SCALE:OFFSET";
  return "it has 16 bits in " + (a.scale ? one : other).name + ", but not in " + wide_file.name +
         "; use the same reduce in the XML of all runs of a manifest";
}

}  // namespace

void CommonScaling::add(const manifest::FileEntry& file, const manifest::DatasetEntry& dataset) {
  if (!obstacle_.empty() || volume(dataset.box) == 0) return;
  if (part_ != nullptr && !go_together(*part_, dataset)) {
    obstacle_ = why_not(*file_, *part_, file, dataset);
    return;
  }
  if (part_ != nullptr && fit_of(dataset) <= fit_of(*part_)) return;
  file_ = &file;
  part_ = &dataset;
}

namespace {

// A dataset of a variable, its file, and its box in the array, in which stacks of several servers follow each other.
struct PlacedDataset {
  const manifest::FileEntry* file;
  const manifest::DatasetEntry* dataset;
  Box box;
};

// The stored datasets of one variable, by step and client.
using History = std::map<std::int64_t, std::vector<PlacedDataset>>;

Box box_behind(const manifest::DatasetEntry& dataset, const std::vector<PlacedDataset>& places) {
  Box box = dataset.box;
  if (!dataset.is_stack() || places.empty()) return box;
  box.low[0] = places.back().box.high[0];
  box.high[0] += box.low[0];
  return box;
}

std::map<std::string, History> histories_of(const Steps& steps) {
  std::map<std::string, History> histories;
  for (const auto& [step, record] : steps) {
    std::map<std::string, std::vector<manifest::DatasetInFile>> by_variable;
    for (const manifest::FileEntry& file : record.files)
      for (const manifest::DatasetEntry& dataset : file.datasets) by_variable[dataset.variable].push_back({&file, &dataset});
    for (auto& [variable, datasets] : by_variable) {
      put_in_order(datasets);
      std::vector<PlacedDataset>& places = histories[variable][step];
      for (const auto& [file, dataset] : datasets) places.push_back({file, dataset, box_behind(*dataset, places)});
    }
  }
  return histories;
}

template <class Call>
void for_each_place(const History& history, Call&& call) {
  for (const auto& [step, places] : history)
    for (const PlacedDataset& place : places) call(places, place);
}

// Whether values of any step have a position; a scalar needs none.
bool has_positions(const History& history) {
  bool any = false;
  for_each_place(history, [&](const std::vector<PlacedDataset>&, const PlacedDataset& place) {
    any = any || (place.dataset->has_position && place.box.ndims > 0 && volume(place.box) > 0);
  });
  return any;
}

// Why the values of a dataset have no place in the array; "" if they have one. `placed`: those of some step have positions. A dataset
// without a position is the whole array if each step has only one, always without a position.
std::string why_no_place(const std::vector<PlacedDataset>& places, const PlacedDataset& place, bool placed) {
  if (place.dataset->has_position) return "";
  if (places.size() > 1) return "a step has several blocks without a position; place them with dc_set_position";
  if (!placed || volume(place.box) == 0) return "";
  return "it has a position in some steps and none in " + place.file->name + "; place it with dc_set_position in every step";
}

bool is_stacked(const History& history) { return history.begin()->second.front().dataset->is_stack(); }

// The sources and the blocks of a step that has only stacks; both empty if it has other datasets.
std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> layers_of(const std::vector<PlacedDataset>& places) {
  std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> layers;
  for (const PlacedDataset& place : places) {
    if (!place.dataset->is_stack()) return {};
    layers.first.insert(layers.first.end(), place.dataset->sources.begin(), place.dataset->sources.end());
    layers.second.insert(layers.second.end(), place.dataset->blocks.begin(), place.dataset->blocks.end());
  }
  return layers;
}

// Checks that all steps have the same blocks with the same shape; "" if so.
std::string obstacle_of_stacks(const dc_variable_info_t& variable, const History& history) {
  const std::vector<PlacedDataset>& first = history.begin()->second;
  const auto same_shape = [&](const PlacedDataset& place) {
    bool same = place.box.ndims == variable.ndims + 1;
    for (int d = 1; same && d < place.box.ndims; ++d) same = place.box.extent(d) == first.front().box.extent(d);
    return same;
  };
  for (const auto& [step, places] : history)
    if (layers_of(places) != layers_of(first) || layers_of(places).first.empty() ||
        !std::all_of(places.begin(), places.end(), same_shape))
      return "its blocks have no position and differ between steps; place them with dc_set_position";
  return "";
}

// Why there is no common array; "" if there is one.
std::string obstacle(const dc_variable_info_t& variable, const History& history) {
  if (is_stacked(history)) return obstacle_of_stacks(variable, history);
  std::string why;
  const bool placed = has_positions(history);
  for_each_place(history, [&](const std::vector<PlacedDataset>& places, const PlacedDataset& place) {
    const manifest::DatasetEntry& dataset = *place.dataset;
    if (!why.empty()) return;
    if (dataset.is_stack())
      why = "its blocks have no position and differ between steps; place them with dc_set_position";
    else if (dataset.box.ndims != variable.ndims)
      why = "it has " + std::to_string(dataset.box.ndims) + " dimensions in " + place.file->name + " and " +
            std::to_string(variable.ndims) + " in the XML";
    else
      why = why_no_place(places, place, placed);
  });
  return why;
}

// A run that continues another one may declare a variable differently; HDF5 would convert the earlier values to the last type.
std::string other_declaration(const dc_variable_info_t& variable, const History& history, const Steps& steps) {
  const std::string now = manifest::declared_as(variable);
  for (const auto& [step, places] : history) {
    const auto& declared = steps.at(step).declared;
    if (!declared) continue;
    const auto before = declared->find(variable.path);
    if (before != declared->end() && before->second != now)
      return "it is declared as " + before->second + " in step " + std::to_string(step) + " and as " + now + " in this run";
  }
  return "";
}

CommonScaling scaling_of(const History& history) {
  CommonScaling scaling;
  for_each_place(history,
                 [&](const std::vector<PlacedDataset>&, const PlacedDataset& place) { scaling.add(*place.file, *place.dataset); });
  return scaling;
}

// The box of the declared array and every part, so that nothing is omitted if the declaration is too small.
Box box_of(const History& history) {
  std::vector<Box> boxes;
  for_each_place(history, [&](const std::vector<PlacedDataset>&, const PlacedDataset& place) {
    const manifest::DatasetEntry& dataset = *place.dataset;
    if (volume(place.box) > 0) boxes.push_back(place.box);
    if (dataset.global.size() != static_cast<std::size_t>(dataset.box.ndims)) return;
    Box declared = {dataset.box.ndims, {}, {}};
    std::copy(dataset.global.begin(), dataset.global.end(), declared.high.begin());
    boxes.push_back(declared);
  });
  if (boxes.empty()) boxes.push_back(history.begin()->second.front().box);
  return bounding_box(boxes);
}

// The file whose part lies farthest from zero.
const std::string& farthest_file(const History& history) {
  const PlacedDataset* farthest = &history.begin()->second.front();
  const auto reach = [](const PlacedDataset& place) {
    return *std::max_element(place.box.high.begin(), place.box.high.begin() + std::max(place.box.ndims, 1));
  };
  for_each_place(history, [&](const std::vector<PlacedDataset>&, const PlacedDataset& place) {
    if (reach(place) > reach(*farthest)) farthest = &place;
  });
  return farthest->file->name;
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

// If servers share faces, the lower client wins, as within a server.
void map_step(std::size_t time, const std::vector<PlacedDataset>& places, std::vector<Mapping>& mappings) {
  std::vector<Box> boxes;
  for (const PlacedDataset& place : places) boxes.push_back(place.box);
  for (const JoinedBox& joined : join(boxes))
    for (const Tile& tile : joined.tiles) {
      const PlacedDataset& place = places[tile.block];
      mappings.push_back({time, place.file, place.dataset, place.box, tile.box});
    }
}

GlobalArray array_of(const dc_variable_info_t& variable, const History& history, const CommonScaling& scaling) {
  GlobalArray array = {&variable, 0, box_of(history), {}, scaling.scale(), scaling.offset()};
  if (is_stacked(history)) std::tie(array.sources, array.blocks) = layers_of(history.begin()->second);
  std::size_t time = 0;
  for (const auto& [step, places] : history) map_step(time++, places, array.mappings);
  return array;
}

// A time axis must be strictly increasing.
bool increase(const std::vector<double>& times) {
  const auto follows = [](double before, double time) { return !(before < time); };
  return std::all_of(times.begin(), times.end(), [](double time) { return std::isfinite(time); }) &&
         std::adjacent_find(times.begin(), times.end(), follows) == times.end();
}

TimeAxis axis_of(const std::vector<std::int64_t>& steps, const Steps& records) {
  TimeAxis axis = {steps, {}};
  for (const std::int64_t step : steps)
    if (const std::optional<double>& time = records.at(step).time) axis.times.push_back(*time);
  if (axis.times.size() < steps.size() || !increase(axis.times)) axis.times.clear();
  return axis;
}

std::vector<std::int64_t> steps_of(const History& history) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, places] : history) steps.push_back(step);
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

using ArraysById = std::map<std::uint32_t, const GlobalArray*>;  // of their variables

// The coordinate of dimension `d`, if it covers the whole extent; else nullptr.
const GlobalArray* coordinate_of(const GlobalArray& array, int d, const ArraysById& arrays) {
  if (array.variable->coordinate_count != array.box.ndims) return nullptr;
  const auto found = arrays.find(array.variable->coordinates[d]);
  if (found == arrays.end() || found->second == &array || found->second->box.ndims != 1) return nullptr;
  const Box& box = found->second->box;
  return box.low[0] == array.box.low[d] && box.high[0] == array.box.high[d] ? found->second : nullptr;
}

// Moves the arrays that label others to the view's coordinates.
void find_coordinates(GlobalView& view) {
  ArraysById by_id;
  for (const GlobalArray& array : view.arrays) by_id.emplace(array.variable->id, &array);
  std::map<std::uint32_t, int> places;  // variable -> index in view.coordinates
  for (const GlobalArray& array : view.arrays)
    for (int d = 0; d < array.box.ndims; ++d)
      if (const GlobalArray* coordinate = coordinate_of(array, d, by_id); coordinate != nullptr)
        if (places.emplace(coordinate->variable->id, static_cast<int>(places.size())).second)
          view.coordinates.push_back(*coordinate);
  for (GlobalArray& array : view.arrays)
    for (int d = 0; d < array.box.ndims; ++d) {
      const GlobalArray* coordinate = coordinate_of(array, d, by_id);
      array.coordinates.push_back(coordinate == nullptr ? -1 : places.at(coordinate->variable->id));
    }
  const auto is_coordinate = [&](const GlobalArray& array) { return places.count(array.variable->id) > 0; };
  view.arrays.erase(std::remove_if(view.arrays.begin(), view.arrays.end(), is_coordinate), view.arrays.end());
  for (GlobalArray& coordinate : view.coordinates) {
    std::vector<Mapping>& mappings = coordinate.mappings;
    const auto is_later = [](const Mapping& mapping) { return mapping.time > 0; };
    mappings.erase(std::remove_if(mappings.begin(), mappings.end(), is_later), mappings.end());
  }
}

// Assigns each array its axis.
void find_axes(GlobalView& view, const std::map<std::string, History>& histories, const Steps& steps) {
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

GlobalView global_view(const Steps& steps, const dc_host_t& host) {
  GlobalView view;
  const std::map<std::string, History> histories = histories_of(steps);
  std::set<std::string> known;
  for (std::size_t i = 0; i < host.variable_count; ++i) {
    const dc_variable_info_t& variable = host.variables[i];
    const auto found = histories.find(variable.path);
    if (found == histories.end()) continue;
    known.insert(variable.path);
    const CommonScaling scaling = scaling_of(found->second);
    std::string why = obstacle(variable, found->second);
    if (why.empty()) why = other_declaration(variable, found->second, steps);
    if (why.empty()) why = too_large(variable, found->second);
    if (!why.empty())
      view.not_shown.push_back({variable.path, why});
    else if (!scaling.obstacle().empty())
      view.not_shown.push_back({variable.path, scaling.obstacle(), true});
    else
      view.arrays.push_back(array_of(variable, found->second, scaling));
  }
  for (const auto& [variable, history] : histories)
    if (known.count(variable) == 0) view.not_shown.push_back({variable, "the XML of this run does not declare it"});
  find_coordinates(view);
  find_axes(view, histories, steps);
  return view;
}

}  // namespace damaris::hdf5
