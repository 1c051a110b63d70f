#include "stored_parts.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <optional>

namespace damaris::manifest {
namespace {

// At the block's position, or at zero if it has none.
Box wanted_box(const dc_read_t& read) {
  Box box;
  box.ndims = read.variable->ndims;
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] = read.has_position != 0 ? read.position[d] : 0;
    box.high[d] = box.low[d] + read.extents[d];
  }
  return box;
}

std::string list_of(int count, const std::int64_t* numbers) {
  std::string text = "(";
  for (int d = 0; d < count; ++d) text += (d == 0 ? "" : ",") + std::to_string(numbers[d]);
  return text + ")";
}

std::string extents_of(const Box& box) {
  Extents extents = {};
  for (int d = 0; d < box.ndims; ++d) extents[static_cast<std::size_t>(d)] = box.extent(d);
  return list_of(box.ndims, extents.data());
}

template <class T>
std::string joined(const char* what, const std::vector<T>& list) {
  std::string text;
  for (const T& item : list) {
    text += text.empty() ? what : ", ";
    if constexpr (std::is_same_v<T, std::string>)
      text += item;
    else
      text += std::to_string(item);
  }
  return text.empty() ? text : "; " + text;
}

// Why the step is incomplete.
std::string reasons(const StepEntry& step) {
  return joined("clients that never ended it: ", step.missing) +
         (step.never_attached > 0 ? "; clients that never attached: " + std::to_string(step.never_attached) : "") +
         joined(step.dropped ? "dropped for lack of room: " : "skipped for lack of room: ", step.skipped) +
         joined("not stored: ", step.failures) + (step.complete ? "" : "; the step is not complete");
}

std::vector<DatasetInFile> datasets_of(const StepEntry& step, const std::string& variable) {
  std::vector<DatasetInFile> found;
  for (const FileEntry& file : step.files)
    for (const DatasetEntry& dataset : file.datasets)
      if (dataset.variable == variable) found.push_back({&file, &dataset});
  put_in_order(found);
  return found;
}

[[noreturn]] void refuse_shape(const std::string& what, const std::string& stored, const std::string& wanted) {
  throw Error(DC_E_SHAPE,
              "it was stored with " + what + " " + stored + ", but the client requests " + wanted +
                  " (slowest dimension first, without ghost zones); set its parameters, shape and position as in that run");
}

void check_global(const DatasetEntry& dataset, const dc_read_t& read) {
  const int ndims = read.variable->ndims;
  if (dataset.box.ndims != ndims) refuse_shape("dimensions", std::to_string(dataset.box.ndims), std::to_string(ndims));
  if (dataset.global.empty() || read.variable->has_global == 0) return;
  if (!std::equal(dataset.global.begin(), dataset.global.end(), read.global, read.global + ndims))
    refuse_shape("the global extents", list_of(static_cast<int>(dataset.global.size()), dataset.global.data()),
                 list_of(ndims, read.global));
}

FoundParts parts_at_position(const StepEntry& step, const std::vector<DatasetInFile>& candidates, const dc_read_t& read) {
  FoundParts found = {wanted_box(read), {}};
  if (volume(found.frame) == 0) return found;
  std::vector<Box> open = {found.frame};
  for (const DatasetInFile& candidate : candidates) {
    if (!candidate.dataset->has_position) continue;
    check_global(*candidate.dataset, read);
    std::vector<Box> left;
    for (const Box& box : open) {
      const Box common = intersection(box, candidate.dataset->box);
      if (volume(common) > 0) found.parts.push_back({candidate.file, candidate.dataset, common});
      const std::vector<Box> rest = volume(common) > 0 ? subtract(box, common) : std::vector<Box>{box};
      left.insert(left.end(), rest.begin(), rest.end());
    }
    open = std::move(left);
  }
  if (open.empty()) return found;
  const std::string missing = box_text(open.front()), wanted = box_text(found.frame);
  throw Error(DC_E_NOT_STORED, "elements" + missing + (open.size() > 1 ? " and others" : "") +
                                   (missing == wanted ? "" : " of" + wanted) + " were not stored" + reasons(step));
}

// The box of the dataset that holds the block, one layer of a stack; none if the dataset does not hold it.
std::optional<Box> box_of_block(const DatasetEntry& dataset, const dc_read_t& read) {
  if (!dataset.is_stack())
    return dataset.source == read.source && dataset.block == read.block ? std::optional<Box>(dataset.box) : std::nullopt;
  for (std::size_t k = 0; k < dataset.sources.size(); ++k) {
    if (dataset.sources[k] != read.source || dataset.blocks[k] != read.block) continue;
    Box layer = dataset.box;
    layer.low[0] += static_cast<std::int64_t>(k);
    layer.high[0] = layer.low[0] + 1;
    return layer;
  }
  return std::nullopt;
}

std::string extents_of_block(const DatasetEntry& dataset) {
  Box box = dataset.box;
  if (dataset.is_stack()) {
    std::rotate(box.low.begin(), box.low.begin() + 1, box.low.end());
    std::rotate(box.high.begin(), box.high.begin() + 1, box.high.end());
    --box.ndims;
  }
  return extents_of(box);
}

// The whole block, of which the client may request a part.
std::string extents_of_whole(const dc_read_t& read) {
  Extents extents = {};
  for (int d = 0; d < read.variable->ndims; ++d)
    extents[static_cast<std::size_t>(d)] = read.before[d] + read.extents[d] + read.behind[d];
  return list_of(read.variable->ndims, extents.data());
}

// A layer of a stack has one more dimension, the first.
Box requested_part(const Box& block, const dc_read_t& read) {
  Box part = block;
  const auto more = static_cast<std::size_t>(block.ndims - read.variable->ndims);
  for (std::size_t d = 0; d < static_cast<std::size_t>(read.variable->ndims); ++d) {
    part.low[d + more] += read.before[d];
    part.high[d + more] -= read.behind[d];
  }
  return part;
}

FoundParts part_of_source(const StepEntry& step, const std::vector<DatasetInFile>& candidates, const dc_read_t& read) {
  for (const DatasetInFile& candidate : candidates) {
    const std::optional<Box> stored = box_of_block(*candidate.dataset, read);
    if (!stored) continue;
    if (extents_of_block(*candidate.dataset) != extents_of_whole(read))
      refuse_shape("the extents", extents_of_block(*candidate.dataset), extents_of_whole(read));
    const Box part = requested_part(*stored, read);
    if (volume(part) == 0) return {part, {}};
    return {part, {{candidate.file, candidate.dataset, part}}};
  }
  const bool all_joined = std::all_of(candidates.begin(), candidates.end(),
                                      [](const DatasetInFile& c) { return c.dataset->source < 0 && !c.dataset->is_stack(); });
  if (all_joined)
    throw Error(DC_E_SHAPE,
                "it was stored as parts of a global array; give the position of this client's part with dc_set_position");
  throw Error(DC_E_NOT_STORED, "block " + std::to_string(read.block) + " of client " + std::to_string(read.source) +
                                   " is not among what was stored" + reasons(step));
}

}  // namespace

FoundParts find_parts(const StepEntry& step, const dc_read_t& read) {
  const std::vector<DatasetInFile> candidates = datasets_of(step, read.variable->path);
  if (candidates.empty()) throw Error(DC_E_NOT_STORED, "the variable was not stored in that step" + reasons(step));
  const bool by_position =
      std::any_of(candidates.begin(), candidates.end(), [](const DatasetInFile& c) { return c.dataset->has_position; });
  if (read.has_position == 0) return part_of_source(step, candidates, read);
  if (by_position) return parts_at_position(step, candidates, read);
  throw Error(DC_E_SHAPE, "it was stored without positions; read it without dc_set_position: each client then gets its own block");
}

}  // namespace damaris::manifest
