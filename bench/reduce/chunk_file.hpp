// Writes fields into an HDF5 file in the ways that are compared: through HDF5's own filters, or encoded before and as chunks.
// Used by: the reduce benchmark, one thread.
// Before it: tiles. After it: a file that any HDF5 reads.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "codec/encoder.hpp"

namespace damaris::bench {

// `tiles` tiles of one shape, one after the other at `data`; `size` is 4 (float) or 2 (half).
struct Tiles {
  std::string name;
  const void* data = nullptr;
  std::uint64_t tiles = 0;
  std::uint64_t shape[3] = {0, 0, 0};
  std::size_t size = 4;

  std::uint64_t tile_bytes() const { return shape[0] * shape[1] * shape[2] * size; }
};

class ChunkFile {
 public:
  // Throws Error(DC_E_IO), as all its functions.
  explicit ChunkFile(const std::string& path);
  ~ChunkFile();
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  // H5Dwrite through the filters shuffle and deflate 1. Returns the bytes stored.
  std::uint64_t write_filtered(const Tiles& tiles);
  // The same from floats to halves, converted by HDF5.
  std::uint64_t write_converted(const Tiles& halves, const float* values);
  // The encoder, then H5Dwrite_chunk. Returns the bytes stored.
  std::uint64_t write_encoded(const Tiles& tiles, codec::Encoder& encoder);
  // Reads back through HDF5's filters and compares every byte. Throws Error(DC_E_INTERNAL) when one differs.
  void compare(const Tiles& tiles);

 private:
  hid_t create(const Tiles& tiles);
  std::uint64_t write_whole(const Tiles& tiles, hid_t memory_type, const void* data);
  hid_t file_;
};

}  // namespace damaris::bench
