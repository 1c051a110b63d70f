// Returns freed memory to the system.
// Used by: a start that has parsed a configuration in the simulation's process, once.
#pragma once

#include <cstddef>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace damaris {

// After the parse of a configuration of so many bytes, all of which has been freed: it takes some ten times as much, which would otherwise
// stay with each client of the node. A small one is not worth the pages that the simulation has freed and will use again.
inline void return_memory_of_parse(std::size_t configuration_bytes) noexcept {
  constexpr std::size_t kWorthIt = 64 << 10;
  if (configuration_bytes < kWorthIt) return;
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace damaris
