// Copies the part of a block that lies in a box, so that what goes to HDF5 is contiguous in memory and in the file.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp. After it: dataset_writer.hpp hands the buffer to HDF5.
#pragma once

#include <cstddef>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

// An array in memory, slowest dimension first, without gaps, and where it lies in the coordinates both arrays share.
struct ConstArray {
  const std::byte* data;
  Box box;
};
struct Array {
  std::byte* data;
  Box box;
};

// Copies the elements of `region`, which both arrays must hold.
void copy_region(const Array& to, const ConstArray& from, const Box& region, std::size_t element_bytes);

// Whether `region` is one contiguous run of the array; `offset_bytes` then gets where it begins.
bool is_contiguous(const Box& array, const Box& region, std::size_t element_bytes, std::size_t& offset_bytes);

}  // namespace damaris::hdf5
