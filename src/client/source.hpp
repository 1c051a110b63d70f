// Where the data of a write come from and those of a read go to, checked against the layout.
// Used by: client threads at the start of a write or read; nothing is allocated or formatted unless the source is refused.
// Before it: the C interface. After it: one memcpy, or strided_copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/variable.hpp"

namespace damaris::client {

// Contiguous, or with one stride per dimension in the layout's dimension order.
struct Source {
  const void* data = nullptr;
  dc_type type = DC_ANY;
  int ndims = 0;                          // of the lists below
  const std::int64_t* extents = nullptr;  // nullptr: trust the layout
  const std::ptrdiff_t* strides_bytes = nullptr;
};

// Where a read puts what it brings: the array of a write, the other way round.
struct Target {
  void* data = nullptr;
  dc_type type = DC_ANY;
  int ndims = 0;
  const std::int64_t* extents = nullptr;
  const std::ptrdiff_t* strides_bytes = nullptr;
  Source as_source() const { return {data, type, ndims, extents, strides_bytes}; }
};

[[noreturn]] void refuse_type(const model::Model& model, const Variable& variable, dc_type given);

// Throws Error: DC_E_TYPE, DC_E_SHAPE, DC_E_ARGUMENT for a null pointer. `shape`: the variable's in that step.
void check_source(const model::Model& model, const Variable& variable, const model::Shape& shape, const Source& source,
                  std::int64_t step);
inline void check_source(const model::Model& model, const Variable& variable, const Source& source, std::int64_t step) {
  check_source(model, variable, variable.shape, source, step);
}

// Copies the elements of a checked source to `target`, contiguous in C order.
void copy_source(std::byte* target, const Variable& variable, const Source& source);

// Copies the interior, contiguous in C order at `interior`, to its place in a checked target. Ghost zones stay as they are.
void place_interior(const std::byte* interior, const Variable& variable, const Target& target);

}  // namespace damaris::client
