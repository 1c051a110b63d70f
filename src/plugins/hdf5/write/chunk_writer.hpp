// Writes a piece with a reduction, chunk by chunk: rounds or quantizes if declared, and compresses outside HDF5.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: dataset_writer.hpp; chunk_encoder.hpp, which makes the chunks. After it: H5Dwrite_chunk; any reader decodes it with its filters.
#pragma once

#include <utility>
#include <vector>

#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../layout/memory.hpp"
#include "chunk_encoder.hpp"
#include "fill.hpp"
#include "manifest/entries.hpp"
#include "precision.hpp"

namespace damaris::hdf5 {

bool is_reduced(const Piece& piece);

class ChunkWriter {
 public:
  // `filters`: HDF5's own, for pieces that are rounded but not compressed.
  ChunkWriter(std::vector<Filter> filters, int threads, MemoryBound memory)
      : filters_(std::move(filters)), encoder_(threads, memory) {}

  int threads() const { return encoder_.threads(); }
  // Also for the chunks of files of several servers, which are written elsewhere.
  ChunkEncoder& encoder() { return encoder_; }

  // Creates the dataset and its parent groups, writes all parts and the attributes of reduction and range, and fills `entry`. Throws
  // Failure, or Refused for values that cannot be stored as declared.
  Dataset write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  std::vector<Filter> filters_;
  Float16Scales float16_scales_;
  ChunkEncoder encoder_;
};

}  // namespace damaris::hdf5
