// HDF5's shuffle: the first bytes of all elements, then the second bytes, and so on.
// Used by: the codecs, any thread of the server.
// Before it: a chunk of elements. After it: byte planes for the compressor.
#pragma once

#include <cstddef>

#include "simd.hpp"

namespace damaris::codec {

// Byte b of element i of `in` goes to out[b * count + i]. `in` and `out` must not overlap.
// Units: `count` elements of `size` bytes. Threads: any.
void shuffle(const std::byte* in, std::size_t count, std::size_t size, std::byte* out, Simd simd) noexcept;
// The inverse.
void unshuffle(const std::byte* in, std::size_t count, std::size_t size, std::byte* out) noexcept;

}  // namespace damaris::codec
