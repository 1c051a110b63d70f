// Copies an array into the region. A large one is not read again by the process that writes it, so it need not pass its caches.
// Used by: client threads, in every write that copies.
// Before it: room in an arena. After it: publishing; the values are visible to whoever sees the block published.
#pragma once

#include <cstdint>
#include <cstring>

namespace damaris::shm {

// From here on it pays, whether the source is in a cache or not. Smaller arrays often find their target there, where the last step left it.
inline constexpr std::uint64_t kStreamedBytes = 256 * 1024;

// `to`: on a boundary of 16 bytes, as the data of every block is.
void stream_copy(void* to, const void* from, std::uint64_t bytes) noexcept;

inline void copy_in(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes >= kStreamedBytes) return stream_copy(to, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace damaris::shm
