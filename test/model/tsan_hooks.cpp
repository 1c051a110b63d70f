// The functions that code compiled with -fsanitize=thread calls before each access. Memory that is not watched is accessed as it is.
#include <algorithm>
#include <cstring>

#include "model/sites.hpp"

using namespace damaris::explorer;

namespace {

template <class T>
T load(const volatile T* address, int order, const void* caller) {
  const void* place = const_cast<const T*>(address);
  if (!watches(place)) return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  return static_cast<T>(hooked_load(place, sizeof(T), order_at(caller, Kind::load, order)));
}

template <class T>
void store(volatile T* address, T value, int order, const void* caller) {
  void* place = const_cast<T*>(address);
  if (!watches(place)) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  hooked_store(place, sizeof(T), value, order_at(caller, Kind::store, order));
}

// `change`: what is there -> what comes in its place. Memory that is not watched is changed by the only thread there is.
template <class T, class Change>
T update(volatile T* address, int order, const void* caller, Change&& change) {
  void* place = const_cast<T*>(address);
  if (watches(place))
    return static_cast<T>(hooked_update(place, sizeof(T), order_at(caller, Kind::update, order),
                                        [&](std::uint64_t old) { return std::uint64_t{change(static_cast<T>(old))}; }));
  const T before = *address;
  *address = change(before);
  return before;
}

// The order of one that fails, where that of one that succeeds has been made weaker.
Order without_release(Order order) {
  if (order == Order::acq_rel) return Order::acquire;
  return order == Order::release ? Order::relaxed : order;
}

template <class T>
bool exchange(volatile T* address, T* expected, T value, int order, int if_other, const void* caller) {
  void* place = const_cast<T*>(address);
  if (!watches(place)) return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  const Order its = order_at(caller, Kind::update, order);
  const Order other = std::min(static_cast<Order>(if_other), without_release(its));
  const auto old = static_cast<T>(hooked_exchange(place, sizeof(T), *expected, value, its, other));
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
#define CALLER __builtin_return_address(0)
#define HOOK_UPDATE(bits, type, name, changed)                                       \
  type __tsan_atomic##bits##_##name(volatile type* address, type value, int order) { \
    return update(address, order, CALLER, [value](type old) -> type {                \
      (void)old;                                                                     \
      return static_cast<type>(changed);                                             \
    });                                                                              \
  }
#define HOOK_ATOMIC(bits, type)                                                                                                 \
  type __tsan_atomic##bits##_load(const volatile type* address, int order) { return load(address, order, CALLER); }             \
  void __tsan_atomic##bits##_store(volatile type* address, type value, int order) { store(address, value, order, CALLER); }     \
  HOOK_UPDATE(bits, type, fetch_add, old + value)                                                                               \
  HOOK_UPDATE(bits, type, fetch_sub, old - value)                                                                               \
  HOOK_UPDATE(bits, type, fetch_or, old | value)                                                                                \
  HOOK_UPDATE(bits, type, exchange, value)                                                                                      \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value, int order, int other) { \
    return exchange(address, expected, value, order, other, CALLER);                                                            \
  }                                                                                                                             \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value, int order, int other) {   \
    return exchange(address, expected, value, order, other, CALLER);                                                            \
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

// The linker sends the calls of instrumented code here (--wrap): the compiler leaves copies of unknown length to the library.
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  hooked_plain(from, bytes, false);
  hooked_plain(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
}
