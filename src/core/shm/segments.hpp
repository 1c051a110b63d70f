// The segments of an arena: equal parts, at most kSegments of them, each with a counter of the bytes released in it.
// Used by: Arena, and whoever releases a block: the server, or the client for a block that it cancels.
// Before it: a block that is not needed any more. After it: a search for room, which visits the segments whose counter has changed.
#pragma once

#include "core/shm/layout.hpp"

namespace damaris::shm {

// log2 of the size of a segment: the smallest with which kSegments of them are enough.
constexpr unsigned segment_shift(std::uint64_t arena_bytes) noexcept {
  constexpr int kSegmentBits = 10;
  static_assert(kSegments == 1u << kSegmentBits);
  const int bits = 64 - __builtin_clzll(arena_bytes - 1) - kSegmentBits;
  return bits > static_cast<int>(kSmallestSegmentShift) ? static_cast<unsigned>(bits) : kSmallestSegmentShift;
}

// A whole arena of one segment has one counter.
constexpr bool has_segments(std::uint64_t arena_bytes) noexcept { return arena_bytes > std::uint64_t{1} << kSmallestSegmentShift; }

inline void count_release(LaneHeader& lane, std::uint64_t arena_bytes, std::uint64_t offset, std::uint64_t size_bytes) noexcept {
  if (has_segments(arena_bytes))
    lane.released_in[offset >> segment_shift(arena_bytes)].fetch_add(size_bytes, std::memory_order_release);
  lane.released.fetch_add(size_bytes, std::memory_order_release);
}

}  // namespace damaris::shm
