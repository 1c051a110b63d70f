// Writes one piece as an HDF5 dataset, brick by brick.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp says what goes where. After it: HDF5.
#pragma once

#include <cstddef>
#include <vector>

#include "filters.hpp"
#include "handle.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {

class DatasetWriter {
 public:
  explicit DatasetWriter(std::vector<Filter> filters) : filters_(std::move(filters)) {}

  // Creates the dataset with the groups above it and writes all parts. Throws Failure. The caller may add attributes.
  Dataset write(hid_t file, const Piece& piece);

 private:
  Dataset create(hid_t file, const Piece& piece, const Type& type) const;
  void write_bricks(const Dataset& dataset, const Piece& piece, const Type& type);
  const std::byte* collect(const Piece& piece, const Box& brick);

  std::vector<Filter> filters_;
  std::vector<std::byte> staging_;  // kept: pages touched once are the cheap ones
};

}  // namespace damaris::hdf5
