// Writes one piece as an HDF5 dataset, brick by brick.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: pieces.hpp, which assigns blocks to datasets. After it: HDF5.
#pragma once

#include <vector>

#include "../attributes/attributes.hpp"
#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../file/write_target.hpp"
#include "../layout/memory.hpp"
#include "../layout/pieces.hpp"
#include "brick_index.hpp"
#include "chunk_writer.hpp"
#include "fill.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

class DatasetWriter {
 public:
  // Up to `threads` chunks of reduced variables are compressed at the same time, as far as `memory` allows.
  DatasetWriter(std::vector<Filter> filters, int threads,
                MemoryBound memory = MemoryBound(static_cast<std::uint64_t>(preset_of("memory"))))
      : filters_(std::move(filters)), memory_(memory), reducer_(filters_, threads, memory) {}

  // Preallocates the space of all values that will be written unreduced.
  void reserve(Hdf5File& file, const std::vector<Piece>& pieces) const;

  // Creates the dataset and its parent groups, writes all parts and the index of its values, and fills `entry`. Throws Failure, or Refused
  // before anything of it is in the file. The caller may add attributes.
  Dataset write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  bool chunked(const Piece& piece) const;
  bool goes_past_hdf5(const Piece& piece) const;
  Dataset create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& brick) const;
  BrickRange write_run(AlignedWriter& out, const Piece& piece, const Box& brick, manifest::DatasetEntry& entry);
  BrickRange write_chunk(const Dataset& dataset, const Type& type, const Piece& piece, const Box& brick,
                         manifest::DatasetEntry& entry);

  std::vector<Filter> filters_;
  MemoryBound memory_;
  Staging staging_;
  ChunkWriter reducer_;
};

}  // namespace damaris::hdf5
