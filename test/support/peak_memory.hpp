// The most memory that this process ever held, shared memory and files included. A forked child begins with what its parent holds.
// Used by: tests of bounds on memory, each in a forked process.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace damaris::test {

// A sanitizer keeps what was freed, and marks beside everything.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsOurs = false;
#else
constexpr bool kMemoryIsOurs = true;
#endif

inline std::uint64_t peak_bytes() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) << 10;
}

}  // namespace damaris::test
