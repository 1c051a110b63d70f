// Prefetches a cache line for writing. A hint: any address is allowed.
// Used by: client threads on the path of a write.
#pragma once

namespace damaris::shm {

inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw the built-in fetches the line in shared state, and the store would still have to wait for exclusive ownership.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace damaris::shm
