// The fields that the reduction is measured on: real ones from a file, cut into the tiles of ranks, and generated turbulence.
// Used by: the reduce benchmark, one thread.
// Before it: an HDF5 file with groups of 3D float32 datasets. After it: chunks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace damaris::bench {

// Tiles of one shape, one after the other in memory; a tile is a chunk.
struct Field {
  std::string name;
  std::uint64_t tiles = 0;
  std::uint64_t shape[3] = {0, 0, 0};  // of a tile, C order
  std::vector<float> values;

  std::uint64_t tile_values() const { return shape[0] * shape[1] * shape[2]; }
};

struct FieldSet {
  std::string name;
  std::vector<Field> fields;
};

// Each group of the file with its datasets, halved in y and in x: four ranks. Throws Error(DC_E_IO).
std::vector<FieldSet> read_fields(const std::string& path);

// 128^3 values with structures of every size, as in turbulence: "w" around zero and "th" around 300, in tiles of 16 levels (1 MiB).
FieldSet turbulence();

}  // namespace damaris::bench
