// Copies an array with a halo, or any regular section, into a contiguous block.
// Used by: client threads inside a write with strides.
// Before it: the simulation's array. After it: the block in the region, in C order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::client {

// `extents` and `strides_bytes` in C order (slowest first), `ndims` of each. What is contiguous is copied whole, also over several dimensions.
void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes);

}  // namespace damaris::client
