// Provides the elements of a box contiguously: in place in the region, or gathered from several blocks.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: pieces.hpp, which assigns parts of blocks to datasets. After it: dataset_writer.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/box.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {

// A dense array in memory, slowest dimension first, with its box in the common coordinates.
struct ConstArray {
  const std::byte* data;
  Box box;
};
struct Array {
  std::byte* data;
  Box box;
};

// Copies the elements of `region`, which both arrays must contain.
void copy_region(const Array& to, const ConstArray& from, const Box& region, std::size_t element_bytes);

// Whether `region` is contiguous in the array; sets `offset_bytes` if so.
bool is_contiguous(const Box& array, const Box& region, std::size_t element_bytes, std::size_t& offset_bytes);

// A buffer for gathered elements, reused for the next box because its pages are already mapped.
using Staging = std::vector<std::byte>;

// The box in the region, if a single part contains it contiguously, so that no copy is needed; else nullptr.
const std::byte* in_place(const Piece& piece, const Box& box);

// The elements of `box`, in the region or gathered in `staging`.
const std::byte* elements_of(const Piece& piece, const Box& box, Staging& staging);

}  // namespace damaris::hdf5
