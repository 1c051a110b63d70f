#include "chunk_store.hpp"

#include <algorithm>

#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "../write/labels.hpp"
#include "chunk_grid.hpp"

namespace damaris::hdf5 {

ChunkStore::ChunkStore(const Hdf5File& file, const SharedLayout& layout, int members)
    : file_(file), layout_(layout), members_(members), stored_bytes_(layout.datasets.size(), 0) {}

ChunkStore::Open& ChunkStore::open(std::size_t number) {
  const auto found = open_.find(number);
  if (found != open_.end()) return found->second;
  const SharedDataset& dataset = layout_.datasets[number];
  Open made = {Dataset(H5Dopen2(file_.id(), dataset.path.c_str(), H5P_DEFAULT), "open the dataset", dataset.path), {}, 0, {}, {}};
  for (const SharedChunk& chunk : chunks_of(dataset, *dataset.chunk, members_)) made.chunks.push_back(chunk.brick);
  made.missing = made.chunks.size();
  return open_.emplace(number, std::move(made)).first->second;
}

void ChunkStore::put(std::size_t number, std::size_t chunk_number, const EncodedChunk& chunk, const BrickRange& range,
                     double error) {
  const SharedDataset& dataset = layout_.datasets[number];
  Open& at = open(number);
  const Box& brick = at.chunks.at(chunk_number);
  Sizes start = {};
  for (int d = 0; d < brick.ndims; ++d) start[d] = static_cast<hsize_t>(brick.low[d] - dataset.whole.low[d]);
  checked(H5Dwrite_chunk(at.dataset.id(), H5P_DEFAULT, chunk.skipped, start.data(), chunk.bytes, chunk.data), "write a chunk of",
          dataset.path);
  file_.check();
  at.ranges.emplace(brick.low, range);
  at.largest_error = std::max(at.largest_error.value_or(0), error);
  if (--at.missing > 0) return;
  label(number, at);
  stored_bytes_[number] = H5Dget_storage_size(at.dataset.id());
  at.dataset.close("write the dataset", dataset.path);
  open_.erase(number);
  file_.check();
}

// Chunks without values have no range.
void ChunkStore::label(std::size_t number, const Open& open) const {
  const SharedDataset& dataset = layout_.datasets[number];
  label_reduction(open.dataset.id(), *dataset.variable, dataset.precision, open.largest_error);
  if (!has_order(dataset.variable->type)) return;
  BrickIndex index(*dataset.chunk);
  for_each_brick(dataset.whole, *dataset.chunk, [&](const Box& brick) {
    const auto found = open.ranges.find(brick.low);
    index.add(found == open.ranges.end() ? no_range() : found->second);
  });
  index.label(open.dataset, dataset.whole.ndims);
}

}  // namespace damaris::hdf5
