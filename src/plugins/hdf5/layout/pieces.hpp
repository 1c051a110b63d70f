// Decides which datasets the file of a step has: whole arrays, boxes of them, or one per source.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the step's views. After it: dataset_writer.hpp, which writes each piece.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

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

// The lowest client with a part of the piece.
std::int32_t lowest_source(const Piece& piece);

// The interior of a block, without ghost zones, at its position or, without one, at zero.
Box interior(const dc_dataset_t& block);
// The block of a part as in memory, with ghost zones, in the coordinates of the piece.
Box in_memory(const Piece& piece, const Part& part);

// The pieces of all variables of the step, by descending priority, then in the order of the step. A variable is joined if all its blocks
// have a position, and stacked if none has one and all are small and have the same shape.
std::vector<Piece> pieces_of(const dc_step_t& step);

}  // namespace damaris::hdf5
