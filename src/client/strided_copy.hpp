// Copies an array with a halo, or any regular section, into a contiguous block, and back.
// Used by: client threads inside a write with strides, and inside a read.
// Before it: the simulation's array. After it: the block in the region, in C order; for a read the other way round.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::client {

// `extents` and `strides_bytes`: `ndims` each, in C order (slowest first). Contiguous runs are copied at once, also across dimensions.
void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes);

// The same in the other direction: `source` is contiguous, `target` has the strides.
void scatter_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                     const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes);

}  // namespace damaris::client
