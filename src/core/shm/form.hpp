// Derives from a layout which lists the block headers of a variable have.
// Used by: the client, and the configuration when it checks whether a dataset can ever fit.
// Before it: a layout. After it: the length of a block; a position set by the program adds a list.
#pragma once

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

namespace damaris::shm {

inline Form form_of(const model::Layout& layout) {
  const int global = layout.global.empty() ? 0 : kHasGlobal, ghost = layout.ghost.empty() ? 0 : kHasGhost;
  return {static_cast<int>(layout.dimensions.size()), global | ghost};
}

}  // namespace damaris::shm
