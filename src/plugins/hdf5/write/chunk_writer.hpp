// Writes a piece with a reduction, chunk by chunk: rounds or quantizes if declared, and compresses outside HDF5.
// Used by: the hdf5 plugin, on the server's work thread, with worker threads that compress.
// Before it: dataset_writer.hpp. After it: H5Dwrite_chunk; any reader decompresses it with its filters.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "brick_index.hpp"
#include "codec/encoder.hpp"
#include "fill.hpp"
#include "precision.hpp"
#include "workers.hpp"

namespace damaris::hdf5 {

bool is_reduced(const Piece& piece);

class ChunkWriter {
 public:
  // `filters`: HDF5's own, for pieces that are rounded but not compressed.
  ChunkWriter(std::vector<Filter> filters, int threads, MemoryBound memory)
      : filters_(std::move(filters)), memory_(memory), workers_(threads), lanes_(static_cast<std::size_t>(workers_.threads())) {}

  // Creates the dataset and its parent groups, writes all parts and the attributes of reduction and range, and fills `entry`. Throws
  // Failure, or Refused for values that cannot be stored as declared.
  Dataset write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  // The state of one worker for one chunk; reused, so that memory is allocated only for larger chunks.
  struct ChunkLane {
    Staging gathered, changed, framed;
    std::map<std::pair<dc_codec, int>, std::unique_ptr<codec::Encoder>> encoders;
    Box brick;
    const void* values = nullptr;
    codec::Encoded encoded;
    BrickRange range = {};
    std::uint32_t checksum = 0;  // of the values as stored, without those beyond the box
    double error = 0;
  };
  // The dataset being written.
  struct ChunkTarget {
    const Piece& piece;
    const Precision& precision;
    const Dataset& dataset;
    const Type& type;
    Extents chunk;
    manifest::DatasetEntry& entry;
  };

  void prepare(ChunkLane& lane, const ChunkTarget& target) const;
  void encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const;
  void put(const ChunkLane& lane, const ChunkTarget& target) const;
  static void fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes);
  static void note(const ChunkLane& lane, const ChunkTarget& target, BrickIndex& index);
  void write_all(const ChunkTarget& target);

  std::vector<Filter> filters_;
  MemoryBound memory_;
  Float16Scales float16_scales_;
  Workers workers_;
  std::vector<ChunkLane> lanes_;
};

}  // namespace damaris::hdf5
