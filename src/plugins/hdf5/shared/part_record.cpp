#include "part_record.hpp"

#include <algorithm>
#include <cmath>

#include "../write/labels.hpp"

namespace damaris::hdf5 {

manifest::DatasetEntry record_of(const SharedDataset& dataset, const Piece& piece) {
  manifest::DatasetEntry entry;
  entry.path = dataset.path;
  entry.variable = dataset.variable->path;
  entry.has_position = dataset.has_position;
  entry.box = piece.box;
  entry.global = dataset.global;
  entry.start.emplace();
  for (int d = 0; d < piece.box.ndims; ++d) entry.start->push_back(piece.box.low[d] - dataset.whole.low[d]);
  if (dataset.joined) entry.lowest_source = lowest_source(piece);
  if (!dataset.joined) {
    entry.source = dataset.parts.front().source;
    entry.block = dataset.parts.front().block;
  }
  const auto count = static_cast<std::uint64_t>(volume(piece.box));
  entry.raw_bytes = count * dataset.variable->element_bytes;
  entry.stored_bytes = count * dataset.precision.element_bytes;
  if (volume(dataset.whole) > 0) note_reduction(entry, dataset.variable->reduce, dataset.precision);
  return entry;
}

void add_range(manifest::DatasetEntry& entry, const BrickRange& range) {
  if (std::isnan(range.min)) return;
  entry.min = std::min(entry.min.value_or(range.min), range.min);
  entry.max = std::max(entry.max.value_or(range.max), range.max);
}

}  // namespace damaris::hdf5
