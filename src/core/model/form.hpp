// Which lists the header of a variable's blocks has, as its layout says.
// Used by: the client, and the configuration when it looks whether a dataset can ever fit.
// Before it: a layout. After it: the length of a block; a position that the program gives comes on top.
#pragma once

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

namespace damaris::model {

inline shm::Form form_of(const Layout& layout) {
  const int global = layout.global.empty() ? 0 : shm::kHasGlobal, ghost = layout.ghost.empty() ? 0 : shm::kHasGhost;
  return {static_cast<int>(layout.dimensions.size()), global | ghost};
}

}  // namespace damaris::model
