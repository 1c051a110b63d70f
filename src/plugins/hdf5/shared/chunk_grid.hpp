// The chunks of a dataset that several servers fill: their extents, and which server encodes each. The same on all servers.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: shared_layout.hpp. After it: dataset_creator.hpp, which declares the chunks; chunk_exchange.hpp, which fills them.
#pragma once

#include <cstdint>
#include <vector>

#include "shared_layout.hpp"

namespace damaris::hdf5 {

// The extents of the chunks: those of the XML, or such that as few chunks as possible have values of several members. Cut until a chunk can
// be compressed within `codec_bytes`.
Extents grid_of(const SharedDataset& dataset, int members, std::uint64_t codec_bytes);

// The values of one box of a member in a chunk; `box` is its number in boxes_of().
struct ChunkShare {
  int member = 0;
  std::size_t box = 0;
  Box part;
};

struct SharedChunk {
  Box brick;  // inside the dataset
  int owner = 0;
  std::vector<ChunkShare> shares;

  // Whether one box of its owner fills it.
  bool is_simple() const { return shares.size() == 1 && shares.front().part == brick; }
};

// The chunks that have values, in their order in the dataset. The owner of a chunk is the member with most of its values.
std::vector<SharedChunk> chunks_of(const SharedDataset& dataset, const Extents& chunk, int members);

}  // namespace damaris::hdf5
