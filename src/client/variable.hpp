// A variable as one client sees it: its id, its present shape and its place in the global array. dc_variable hands out a pointer to it.
// Used by: client threads; changed only by dc_set_* and at the start of a step.
// Before it: the model. After it: the block header of each write.
#pragma once

#include <atomic>

#include "core/model/model.hpp"
#include "core/shm/block.hpp"

// The C handle is the object itself: a prepared write follows one pointer.
struct alignas(damaris::shm::kLine) dc_variable_s {
  // What every write reads, up to the fourth extent, is one cache line: between two steps the simulation empties the caches.
  std::uint32_t id = 0;
  damaris::shm::Form form;                // of the block of a write
  bool always_due = true;                 // switched on and due in every step: no look at the model
  std::atomic<bool> place_checked{true};  // false: shape or position changed since the last look whether they fit; any thread looks
  damaris::model::Shape shape;            // C order
  std::int64_t position[DC_MAX_DIMS] = {};  // C order, of the interior
  std::uint64_t element_bytes = 0;
  dc_type type = DC_ANY;
  bool fortran_order = false;
  bool has_explicit_shape = false;  // set by dc_set_shape: parameters no longer change it
};

namespace damaris::client {

using Variable = ::dc_variable_s;
}  // namespace damaris::client
