// Which lists the header of a variable's blocks has: they follow from its layout.
// Used by: the client, and the configuration when it checks whether a dataset can ever fit.
// Before it: a layout. After it: the length of a block; a position that the program gives comes on top.
#pragma once

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

namespace damaris::shm {

inline Form form_of(const model::Layout& layout) {
  const int global = layout.global.empty() ? 0 : kHasGlobal, ghost = layout.ghost.empty() ? 0 : kHasGhost;
  return {static_cast<int>(layout.dimensions.size()), global | ghost};
}

}  // namespace damaris::shm
