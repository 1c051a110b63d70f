// The source of a write and the target of a read, checked against the layout.
// Used by: client threads at the start of a write or read; allocates and formats only on error.
// Before it: the C interface. After it: one memcpy, or strided_copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/declarations.hpp"
#include "client/variable.hpp"
#include "core/base/box.hpp"

namespace damaris::client {

// Contiguous, or with one stride per dimension in the layout's dimension order.
struct Source {
  const void* data = nullptr;
  dc_type type = DC_ANY;
  int ndims = 0;                          // of the lists below
  const std::int64_t* extents = nullptr;  // nullptr: trust the layout
  const std::ptrdiff_t* strides_bytes = nullptr;
};

// The array that a read fills.
struct Target {
  void* data = nullptr;
  dc_type type = DC_ANY;
  int ndims = 0;
  const std::int64_t* extents = nullptr;
  const std::ptrdiff_t* strides_bytes = nullptr;
  Source as_source() const { return {data, type, ndims, extents, strides_bytes}; }
};

[[noreturn]] void refuse_type(const Declarations& declared, const Variable& variable, dc_type given);

// Throws Error: DC_E_TYPE, DC_E_SHAPE, or DC_E_ARGUMENT for a null pointer. `shape`: the variable's shape in that step.
void check_source(const Declarations& declared, const Variable& variable, const model::Shape& shape, const Source& source,
                  std::int64_t step);
inline void check_source(const Declarations& declared, const Variable& variable, const Source& source, std::int64_t step) {
  check_source(declared, variable, variable.shape, source, step);
}

// Copies the elements of a checked source to `target`, contiguous in C order.
void copy_source(std::byte* target, const Variable& variable, const Source& source);

// Copies a part of the interior, contiguous in C order at `values`, to its place in a checked target. Leaves ghost zones unchanged. `part`
// counts from the beginning of the interior.
void place_part(const std::byte* values, const Variable& variable, const Box& part, const Target& target);

}  // namespace damaris::client
