// The functions that code compiled with -fsanitize=thread calls before each access. Memory that is not watched is accessed as it is.
#include <atomic>
#include <cstring>

#include "model/hooks.hpp"

using namespace damaris::explorer;

namespace {

template <class T>
T load(const volatile T* address, int order) {
  const void* place = const_cast<const T*>(address);
  if (!watches(place)) return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  return static_cast<T>(hooked_load(place, sizeof(T), static_cast<Order>(order)));
}

template <class T>
void store(volatile T* address, T value, int order) {
  void* place = const_cast<T*>(address);
  if (!watches(place)) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  hooked_store(place, sizeof(T), value, static_cast<Order>(order));
}

template <class T>
T add(volatile T* address, T value, int order) {
  void* place = const_cast<T*>(address);
  if (!watches(place)) return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
  return static_cast<T>(hooked_update(
      place, sizeof(T), static_cast<Order>(order),
      [](std::uint64_t old, std::uint64_t more) { return std::uint64_t{static_cast<T>(old + more)}; }, value));
}

// Of 32 bits, so that what is expected and what comes in its place fit into one operand. One that fails counts as a store of the old value.
bool exchange(volatile std::uint32_t* address, std::uint32_t* expected, std::uint32_t value, int order) {
  void* place = const_cast<std::uint32_t*>(address);
  if (!watches(place)) return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  const auto change = [](std::uint64_t old, std::uint64_t both) { return old == both >> 32 ? both & 0xffffffff : old; };
  const std::uint64_t both = std::uint64_t{*expected} << 32 | value;
  const auto old = static_cast<std::uint32_t>(hooked_update(place, sizeof value, static_cast<Order>(order), change, both));
  const bool changed = old == *expected;
  *expected = old;
  return changed;
}

}  // namespace

#define HOOK_PLAIN(bytes)                                                                   \
  void __tsan_read##bytes(void* address) { hooked_plain(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { hooked_plain(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { hooked_plain(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { hooked_plain(address, bytes, true); }
#define HOOK_ATOMIC(bits, type)                                                                                              \
  type __tsan_atomic##bits##_load(const volatile type* address, int order) { return load(address, order); }                  \
  void __tsan_atomic##bits##_store(volatile type* address, type value, int order) { store(address, value, order); }          \
  type __tsan_atomic##bits##_fetch_add(volatile type* address, type value, int order) { return add(address, value, order); } \
  type __tsan_atomic##bits##_fetch_sub(volatile type* address, type value, int order) {                                      \
    return add(address, static_cast<type>(0 - value), order);                                                                \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, std::size_t bytes) { hooked_plain(address, bytes, false); }
void __tsan_write_range(void* address, std::size_t bytes) { hooked_plain(address, bytes, true); }
HOOK_PLAIN(1)
HOOK_PLAIN(2)
HOOK_PLAIN(4)
HOOK_PLAIN(8)
HOOK_PLAIN(16)
HOOK_ATOMIC(8, std::uint8_t)
HOOK_ATOMIC(32, std::uint32_t)
HOOK_ATOMIC(64, std::uint64_t)
int __tsan_atomic32_compare_exchange_strong(volatile std::uint32_t* address, std::uint32_t* expected, std::uint32_t value,
                                            int order, int) {
  return exchange(address, expected, value, order);
}

// The linker sends the calls of instrumented code here (--wrap): the compiler leaves copies of unknown length to the library.
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  hooked_plain(from, bytes, false);
  hooked_plain(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
}
