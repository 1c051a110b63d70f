// Joins the blocks of one variable into as few boxes as are needed: which part of which block goes where.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the interiors of all blocks, in the order of their sources. After it: pieces.hpp names the datasets.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

// The part of block `block` (index into what was given) that is kept.
struct Tile {
  std::size_t block = 0;
  Box box;
};

// A box and the tiles that fill it, without overlap and without holes, in the order of their blocks.
struct JoinedBox {
  Box box;
  std::vector<Tile> tiles;
};

// Where blocks overlap the earlier one wins, so staggered faces come from the lower source. Empty blocks take no part. A union that
// is one box becomes one; else several, ordered by their low corners. Depends on nothing but its argument.
std::vector<JoinedBox> join(const std::vector<Box>& blocks);

}  // namespace damaris::hdf5
