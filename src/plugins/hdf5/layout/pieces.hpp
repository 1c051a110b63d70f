// Decides what datasets a file gets for a step: whole arrays, boxes of them, or one per source.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the step's views. After it: dataset_writer.hpp writes each piece.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

// A part of a block, in the coordinates of the piece. Of a stack: the whole block, one thick in the first dimension. `block` is a view, valid during the callback.
struct Part {
  const dc_dataset_t* block = nullptr;
  Box box;
};

// One dataset to be made. Its box is placed in the global array when `has_position`, else it begins at zero. A stack has one dimension
// more than the variable, the first one, along which its small blocks follow each other.
struct Piece {
  std::string path;  // "fields/theta", "fields/theta/box1", "fields/theta/4", "fields/theta/4.1"
  const dc_variable_info_t* variable = nullptr;
  bool joined = false;
  bool has_position = false;
  Box box;
  std::vector<Part> parts;  // fill the box without overlap and without holes
  bool stacked = false;
};

// Extents of the chunks, or of the bricks in which an unchunked piece is written: those of the XML cut to the piece, or ours.
Extents chunk_of(const Piece& piece);
// The same, cut until a chunk can be compressed within `codec_bytes`.
Extents chunk_of(const Piece& piece, std::uint64_t codec_bytes);
// Whether the XML asks for chunks of its own.
bool has_own_chunk(const Piece& piece);

// The lowest client of which it has a part.
std::int32_t lowest_source(const Piece& piece);

// The interior of a block, without ghost zones: at its position, or at zero if it has none.
Box interior(const dc_dataset_t& block);
// The block of a part as it lies in memory, ghost zones included, in the coordinates of the piece.
Box in_memory(const Piece& piece, const Part& part);

// The pieces of all variables of the step, those of larger priority first, else variables in its order. A variable is joined when all its blocks
// have a position, and stacked when none has one and all are small and alike.
std::vector<Piece> pieces_of(const dc_step_t& step);

}  // namespace damaris::hdf5
