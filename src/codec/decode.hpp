// The way back from a stored chunk, into as much memory as its values have and not a byte more, whatever its stream asks for.
// Used by: readers of a run: `damaris verify`, one thread; restart on the server's dispatch thread.
// Before it: H5Dread_chunk. After it: unshuffle() of shuffle.hpp.
#pragma once

#include <cstddef>

#include "encoder.hpp"

namespace damaris::codec {

// Fills the `size_bytes` bytes of `out`. Returns whether the stream is one of `codec` that makes exactly these; else `out` holds anything.
// Threads: any. Throws std::bad_alloc.
bool decode(Codec codec, const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes);

}  // namespace damaris::codec
