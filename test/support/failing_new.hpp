// The operator new of a program in which a test lets one allocation fail, or leaves only so many bytes. In all its forms, because a sanitizer
// finds a delete that is not of the same kind as its new.
// Used by: tests of what is left when memory is short; one source file of a program includes it.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace damaris::test {

// Of one thread: the others of the program are not counted.
struct FailingNew {
  static inline thread_local long left = -1;  // allocations until one fails; -1: none does
  static inline thread_local long room = -1;  // bytes, more than which fail; -1: without bound
  static inline thread_local long failed = 0;

  static bool fails(std::size_t bytes) noexcept {
    const bool is_due = left >= 0 && left-- == 0;
    const bool is_full = room >= 0 && static_cast<long>(bytes) > room;
    if (is_due || is_full) ++failed;
    return is_due || is_full;
  }
  static void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (fails(bytes)) return nullptr;
    const std::size_t size = bytes == 0 ? 1 : bytes;
    void* const memory =
        alignment == 0 ? std::malloc(size) : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (room >= 0) room -= static_cast<long>(std::min(::malloc_usable_size(memory), static_cast<std::size_t>(room)));
    return memory;
  }
  static void* take_or_throw(std::size_t bytes, std::size_t alignment = 0) {
    void* const memory = take(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void give_back(void* memory) noexcept {
    if (room >= 0 && memory != nullptr) room += static_cast<long>(::malloc_usable_size(memory));
    std::free(memory);
  }
};

// While it lives, the allocation after `count` others fails.
class FailsAfter {
 public:
  explicit FailsAfter(long count) {
    FailingNew::failed = 0;
    FailingNew::left = count;
  }
  ~FailsAfter() { FailingNew::left = -1; }
  FailsAfter(const FailsAfter&) = delete;
  FailsAfter& operator=(const FailsAfter&) = delete;
};

// While it lives, there are only so many bytes, and what is freed.
class HasOnly {
 public:
  explicit HasOnly(long bytes) {
    FailingNew::failed = 0;
    FailingNew::room = bytes;
  }
  ~HasOnly() { FailingNew::room = -1; }
  HasOnly(const HasOnly&) = delete;
  HasOnly& operator=(const HasOnly&) = delete;
};

// Of the last one of these objects, also after its end.
inline bool any_failed() noexcept { return FailingNew::failed > 0; }

}  // namespace damaris::test

void* operator new(std::size_t bytes) { return damaris::test::FailingNew::take_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return damaris::test::FailingNew::take_or_throw(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return damaris::test::FailingNew::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return damaris::test::FailingNew::take(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return damaris::test::FailingNew::take(bytes, 0); }
void operator delete(void* memory) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete[](void* memory) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return damaris::test::FailingNew::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return damaris::test::FailingNew::take(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return damaris::test::FailingNew::take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete[](void* memory, std::align_val_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { damaris::test::FailingNew::give_back(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  damaris::test::FailingNew::give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  damaris::test::FailingNew::give_back(memory);
}
