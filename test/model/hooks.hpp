// Between the calls that the compiler puts in for a sanitizer and the explorer that takes the sanitizer's place.
// Used by: tsan_hooks.cpp and explorer.cpp only.
// Before it: an access of instrumented code. After it: the explorer, when it is one of the memory it watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace damaris::explorer {

// As the compiler numbers them.
enum class Order { relaxed = 0, consume = 1, acquire = 2, release = 3, acq_rel = 4, seq_cst = 5 };

bool watches(const void* address);
std::uint64_t hooked_load(const void* address, std::size_t bytes, Order order);
void hooked_store(void* address, std::size_t bytes, std::uint64_t value, Order order);
std::uint64_t hooked_update(void* address, std::size_t bytes, Order order,
                            const std::function<std::uint64_t(std::uint64_t)>& change);
// Returns what was there: `expected` if it has stored `value`.
std::uint64_t hooked_exchange(void* address, std::size_t bytes, std::uint64_t expected, std::uint64_t value, Order order,
                              Order if_other);
void hooked_plain(const void* address, std::size_t bytes, bool is_write);

}  // namespace damaris::explorer
