// The operator new of a program in which a test lets one allocation fail. Of one thread: the others of the program are not counted.
// Used by: tests of what a call does without memory; one source file of a program includes it.
#pragma once

#include <cstdlib>
#include <new>

namespace damaris::test {

inline thread_local long allocations_left = -1;  // until one fails; -1: none does
inline thread_local bool has_failed = false;

// While it lives, the allocation after `count` others fails.
class FailsAfter {
 public:
  explicit FailsAfter(long count) {
    has_failed = false;
    allocations_left = count;
  }
  ~FailsAfter() { allocations_left = -1; }
  FailsAfter(const FailsAfter&) = delete;
  FailsAfter& operator=(const FailsAfter&) = delete;
};

// Of the last one of these objects, also after its end.
inline bool any_failed() noexcept { return has_failed; }

}  // namespace damaris::test

void* operator new(std::size_t bytes) {
  const bool fails = damaris::test::allocations_left >= 0 && damaris::test::allocations_left-- == 0;
  damaris::test::has_failed |= fails;
  void* const memory = fails ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
