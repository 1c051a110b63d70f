// The elements of a box side by side: where they lie in the region, or gathered from several blocks.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp says which part of which block goes where. After it: dataset_writer.hpp, chunk_writer.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/box.hpp"
#include "pieces.hpp"

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

// Elements of a piece's variable, kept for the next box: pages touched once are the cheap ones.
using Staging = std::vector<std::byte>;

// The box where it lies in the region, if a single part holds it as one run: then nothing is copied. Else nullptr.
const std::byte* in_place(const Piece& piece, const Box& box);

// The elements of `box`, in the region or in `staging`.
const std::byte* elements_of(const Piece& piece, const Box& box, Staging& staging);

// The same laid out as `frame`, which holds the box and begins where it begins; zeros beyond the box.
const std::byte* framed_elements_of(const Piece& piece, const Box& box, const Box& frame, Staging& staging);

}  // namespace damaris::hdf5
