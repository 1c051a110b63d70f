// A variable of one client: its id, its current shape and its position in the global array. dc_variable returns a pointer to it.
// Used by: client threads; modified only by dc_set_* and at the start of a step.
// Before it: the model. After it: the block header of each write.
#pragma once

#include <atomic>

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

// The C handle is the object itself: a prepared write follows one pointer. Until the variable is first looked up, all bytes are zero.
struct alignas(damaris::shm::kLine) dc_variable_s {
  // Members used by every write, up to the fourth extent, share one cache line: the simulation evicts the caches between two steps.
  std::uint32_t id = 0;
  damaris::shm::Form form;  // of the blocks that are written
  bool always_due = false;  // enabled and due in every step: `enabled` and `schedule` need not be consulted
  // False: shape or position changed since the last check against the global array; any thread may check.
  std::atomic<bool> place_checked{false};
  std::atomic<bool> is_known{false};        // the members are set; stored with release after them, under the mutex of Shapes
  damaris::model::Shape shape;              // C order
  std::int64_t position[DC_MAX_DIMS] = {};  // C order, of the interior
  std::uint64_t element_bytes = 0;
  damaris::model::StepSelection schedule;
  std::uint32_t layout = 0;  // index into Frame::layouts
  dc_type type = DC_ANY;
  int priority = 0;
  damaris::model::OnFull on_full = damaris::model::OnFull::block;
  bool enabled = false;
  bool fortran_order = false;
  bool has_explicit_shape = false;  // set by dc_set_shape: parameters no longer change it
};

namespace damaris::client {

using Variable = ::dc_variable_s;
}  // namespace damaris::client
