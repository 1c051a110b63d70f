// Joins the blocks of one variable into as few boxes as possible.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the interiors of all blocks, in source order. After it: pieces.hpp, which names the datasets.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/box.hpp"

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

}  // namespace damaris::hdf5
