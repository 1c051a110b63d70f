// One HDF5 file of a phase: some rows of each field, written by one process or, with parallel HDF5, by several.
// Used by: the ways that write files, one thread of each process that has the file open.
// Before it: fields, or what others sent. After it: /field0 ... with the attribute `position`, as in files of Damaris.
#pragma once

#include <string>
#include <vector>

#include "phases/grid.hpp"
#include "phases/hdf5_handle.hpp"

namespace damaris::bench {

// How a file is written.
struct Writing {
  hid_t file_access = H5P_DEFAULT;
  hid_t dataset_transfer = H5P_DEFAULT;
  std::uint64_t levels_per_call = 0;   // the same on all processes that share a file
  std::uint64_t levels_per_chunk = 0;  // 0: contiguous; else shuffle and deflate 1
};

// Values of a slab, (levels, rows, columns).
struct Piece {
  Slab slab;
  const float* values = nullptr;
};

// As many levels of a slab of `rows` rows as `bytes` hold, at least 1; 0 bytes are all levels.
std::uint64_t levels_in(const Grid& grid, std::uint64_t rows, std::uint64_t bytes);

class FieldFile {
 public:
  // Makes the file for the rows of `whole`. Collective over the communicator of `writing`, if it has one, as all calls are.
  FieldFile(const std::string& path, const Grid& grid, Slab whole, const Writing& writing);
  void write(int field, const std::vector<Piece>& pieces);
  // Returns when HDF5 has handed over every byte. Throws Error(DC_E_IO).
  void close();

 private:
  Handle make_dataset(int field) const;
  void write_piece(hid_t dataset, const Piece& piece) const;

  std::string path_;
  Grid grid_;
  Slab whole_;
  Writing writing_;
  Handle file_;
};

}  // namespace damaris::bench
