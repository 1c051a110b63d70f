#include "step_shape.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common_scaling.hpp"
#include "step_parts.hpp"

namespace damaris::hdf5 {
namespace {

using Parts = std::vector<PlacedDataset>;

// Without what the shape of an array does not depend on, so that it is the same in most steps.
StoredArray stored(const PlacedDataset& part, const Box& box, std::int64_t step) {
  StoredArray array;
  const manifest::DatasetEntry& from = *part.dataset;
  manifest::DatasetEntry& to = array.dataset;
  to.variable = from.variable;
  to.has_position = from.has_position;
  to.box = box;
  to.global = from.global;
  to.sources = from.sources;
  to.blocks = from.blocks;
  to.reduce = from.reduce;
  to.scale = from.scale;
  to.offset = from.offset;
  if (from.scale && from.min && from.max) {  // whether all of them are zero
    const bool zero = *from.min == 0 && *from.max == 0;
    to.min = zero ? 0 : -1;
    to.max = zero ? 0 : 1;
  }
  const std::string end = std::to_string(step) + ".h5";
  const std::string& name = part.file->name;
  array.is_numbered = name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  array.file = array.is_numbered ? name.substr(0, name.size() - end.size()) : name;
  return array;
}

std::int64_t reach(const PlacedDataset& part) {
  return *std::max_element(part.box.high.begin(), part.box.high.begin() + std::max(part.box.ndims, 1));
}

bool same_layer_shape(const PlacedDataset& part, const PlacedDataset& first, int ndims) {
  bool same = part.dataset->is_stack() && part.box.ndims == ndims + 1;
  for (int d = 1; same && d < part.box.ndims; ++d) same = part.box.extent(d) == first.box.extent(d);
  return same;
}

// The parts that keep a variable of one step from being one array: one or two; none if there are none.
std::vector<const PlacedDataset*> obstacles(const Parts& parts, int ndims) {
  const PlacedDataset& first = parts.front();
  if (first.dataset->is_stack()) {
    for (const PlacedDataset& part : parts)
      if (!same_layer_shape(part, first, ndims)) return {&first, &part};
    return {};
  }
  for (const PlacedDataset& part : parts) {
    if (part.dataset->is_stack() || part.dataset->box.ndims != ndims) return {&part};
    if (!part.dataset->has_position && parts.size() > 1) return {&part, &part == &first ? &parts[1] : &first};
  }
  return {};
}

// The parts of 16 bits that have no common scale; none if they have one. `decides` becomes the most restrictive one of 16 bits.
std::vector<const PlacedDataset*> different_scales(const Parts& parts, const PlacedDataset*& decides) {
  CommonScaling scaling;
  const PlacedDataset* strictest = nullptr;
  for (const PlacedDataset& part : parts) {
    scaling.add(*part.file, *part.dataset);
    if (!scaling.obstacle().empty()) return {strictest, &part};
    if (scaling.part() == part.dataset) strictest = &part;
  }
  if (strictest != nullptr && strictest->dataset->scale) decides = strictest;
  return {};
}

StoredArray joined(const Parts& parts, const PlacedDataset& decides, std::int64_t step) {
  std::vector<Box> boxes;
  for (const PlacedDataset& part : parts)
    if (volume(part.box) > 0) boxes.push_back(part.box);
  StoredArray array = stored(decides, boxes.empty() ? parts.front().box : bounding_box(boxes), step);
  manifest::DatasetEntry& whole = array.dataset;
  whole.sources.clear();
  whole.blocks.clear();
  for (const PlacedDataset& part : parts) {
    const manifest::DatasetEntry& one = *part.dataset;
    whole.sources.insert(whole.sources.end(), one.sources.begin(), one.sources.end());
    whole.blocks.insert(whole.blocks.end(), one.blocks.begin(), one.blocks.end());
    if (one.global.size() != static_cast<std::size_t>(one.box.ndims)) continue;
    whole.global.resize(one.global.size());
    for (std::size_t d = 0; d < one.global.size(); ++d) whole.global[d] = std::max(whole.global[d], one.global[d]);
  }
  return array;
}

std::vector<StoredArray> as_one(const Parts& parts, int ndims, std::int64_t step) {
  const auto farther = [](const PlacedDataset& a, const PlacedDataset& b) { return reach(a) < reach(b); };
  const PlacedDataset* decides = &*std::max_element(parts.begin(), parts.end(), farther);
  std::vector<const PlacedDataset*> against = obstacles(parts, ndims);
  if (against.empty()) against = different_scales(parts, decides);
  if (against.empty()) return {joined(parts, *decides, step)};
  std::vector<StoredArray> some;
  for (const PlacedDataset* const part : against) some.push_back(stored(*part, part->box, step));
  return some;
}

}  // namespace

bool operator==(const StoredArray& a, const StoredArray& b) {
  const auto compared = [](const StoredArray& one) {
    const manifest::DatasetEntry& set = one.dataset;
    return std::tie(one.file, one.is_numbered, set.variable, set.has_position, set.box, set.global, set.sources, set.blocks,
                    set.reduce, set.scale, set.offset, set.min, set.max);
  };
  return compared(a) == compared(b);
}

std::string file_of(const StoredArray& array, std::int64_t step) {
  return array.is_numbered ? array.file + std::to_string(step) + ".h5" : array.file;
}

Box shown_box(const StoredArray& array) {
  const manifest::DatasetEntry& dataset = array.dataset;
  if (dataset.global.size() != static_cast<std::size_t>(dataset.box.ndims)) return dataset.box;
  Box declared = {dataset.box.ndims, {}, {}};
  std::copy(dataset.global.begin(), dataset.global.end(), declared.high.begin());
  return volume(dataset.box) > 0 ? bounding_box({dataset.box, declared}) : declared;
}

StoredArrays stored_arrays(const manifest::StepEntry& step, const dc_host_t& host) {
  std::map<std::string, int> ndims;
  for (std::size_t i = 0; i < host.variable_count; ++i) ndims.emplace(host.variables[i].path, host.variables[i].ndims);
  StoredArrays arrays;
  for (const auto& [variable, parts] : parts_of(step)) {
    const auto declared = ndims.find(variable);
    const bool is_known = declared != ndims.end();
    arrays.emplace(variable, is_known ? as_one(parts, declared->second, step.step)
                                      : std::vector<StoredArray>{stored(parts.front(), parts.front().box, step.step)});
  }
  return arrays;
}

std::shared_ptr<const StoredArrays> SharedShapes::share(StoredArrays&& arrays) {
  constexpr std::size_t kKept = 16;
  for (const auto& one : last_)
    if (std::shared_ptr<const StoredArrays> before = one.lock(); before != nullptr && *before == arrays) return before;
  auto fresh = std::make_shared<const StoredArrays>(std::move(arrays));
  if (last_.size() < kKept)
    last_.push_back(fresh);
  else
    last_[next_++ % kKept] = fresh;
  return fresh;
}

}  // namespace damaris::hdf5
