// The source of a write and the target of a read, checked against the layout; and the copy of an array with a halo, or of any regular section,
// into a contiguous block, and back.
// Used by: client threads at the start of a write or read; allocates and formats only on error.
// Before it: the C interface, the simulation's array. After it: the block in the region, in C order; for a read the other way round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/shapes.hpp"
#include "core/base/box.hpp"

namespace damaris::client {

// `extents` and `strides_bytes`: `ndims` each, in C order (slowest first). Contiguous runs are copied at once, also across dimensions.
void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes);

// The same in the other direction: `source` is contiguous, `target` has the strides.
void scatter_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                     const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes);

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

[[noreturn]] void throw_wrong_type(const Declarations& declared, const Variable& variable, dc_type given);

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
