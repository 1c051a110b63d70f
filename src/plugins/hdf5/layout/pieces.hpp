// Decides which datasets the file of a step has: whole arrays, boxes of them, or one per source. Joins the blocks of a variable into as few
// boxes as possible. Provides the elements of a box contiguously: in place in the region, or gathered from several blocks.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the step's views. After it: dataset_writer.hpp, which writes each piece.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/box.hpp"
#include "core/base/observed.hpp"

namespace damaris::hdf5 {

// The part of a block that is kept; `block` is its index in the argument of join().
struct Tile {
  std::size_t block = 0;
  Box box;
};

// A box and the tiles that fill it, without overlaps or holes, in block order.
struct JoinedBox {
  Box box;
  std::vector<Tile> tiles;
};

// If blocks overlap, the earlier one wins, so staggered faces come from the lower source. Empty blocks are ignored. A union that is a box
// becomes one box; any other, several boxes, sorted by their low corners. The result depends only on the argument.
std::vector<JoinedBox> join(const std::vector<Box>& blocks);
// The same; if all are empty, the first of them, as the file still has the variable, without elements.
std::vector<JoinedBox> join_or_first(const std::vector<Box>& blocks);

// What ends the path of a dataset of one block: "4", "4.1".
std::string source_name(std::int32_t source, std::int32_t block);

// A part of a block, in the coordinates of the piece; in a stack, the whole block, with extent 1 in the first dimension. `block` is a view,
// valid during the callback.
struct Part {
  const dc_dataset_t* block = nullptr;
  Box box;
};

// A dataset to be created. Its box is in the coordinates of the global array if `has_position`, else it begins at zero. A stack has one
// more dimension than the variable, the first one, along which small blocks are stacked.
struct Piece {
  std::string path;  // "fields/theta", "fields/theta/box1", "fields/theta/4", "fields/theta/4.1"
  const dc_variable_info_t* variable = nullptr;
  bool joined = false;
  bool has_position = false;
  Box box;
  std::vector<Part> parts;  // fill the box without overlaps or holes
  bool stacked = false;
};

// The extents of the chunks, or of the bricks of an unchunked piece: those of the XML clipped to the piece, or the default.
Extents chunk_of(const Piece& piece);
// The same, reduced until a chunk can be compressed within `codec_bytes`.
Extents chunk_of(const Piece& piece, std::uint64_t codec_bytes);
// Whether the XML gives the chunk.
bool has_own_chunk(const Piece& piece);

// The interior of a block, without ghost zones, at its position or, without one, at zero.
Box interior(const dc_dataset_t& block);
// The block of a part as in memory, with ghost zones, in the coordinates of the piece.
Box in_memory(const Piece& piece, const Part& part);

// The pieces of all variables of the step, by descending priority, then in the order of the step. A variable is joined if all its blocks
// have a position, and stacked if none has one and all are small and have the same shape.
std::vector<Piece> pieces_of(const dc_step_t& step);

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

// Runs the work on a dataset, which a recorder sees as one call, with the clients' blocks that it stores. `pieces`: `count` of them, of one
// dataset of this variable. Throws what `body` throws.
template <class Body>
void observe_pieces(const Piece* pieces, std::size_t count, const dc_variable_info_t& variable, std::int64_t step, Body&& body) {
  if (find_recorder() == nullptr) return body();
  std::vector<trace::BlockKey> blocks;
  std::uint64_t bytes = 0;
  for (const Piece* piece = pieces; piece != pieces + count; ++piece)
    for (const Part& part : piece->parts) {
      const std::uint64_t mine = static_cast<std::uint64_t>(volume(part.box)) * variable.element_bytes;
      blocks.push_back({part.block->source, part.block->block, mine});
      bytes += mine;
    }
  observed({"write_dataset", "variable", variable.path, step, bytes, blocks.data(), blocks.size()}, [&] {
    body();
    return 0;
  });
}

}  // namespace damaris::hdf5
