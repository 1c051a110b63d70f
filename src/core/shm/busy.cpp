#include "core/shm/busy.hpp"

#include <algorithm>

#include "core/base/clock.hpp"

namespace damaris::shm {

void show_busy(RegionHeader& header, const std::string& what) noexcept {
  const std::size_t length = std::min(what.size(), sizeof header.busy_with - 1);
  for (std::size_t i = 0; i < length; ++i) header.busy_with[i].store(what[i], std::memory_order_relaxed);
  header.busy_with[length].store('\0', std::memory_order_relaxed);
  header.busy_since_ns.store(what.empty() ? 0 : Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

Busy busy_with(const RegionHeader& header) {
  Busy busy;
  busy.since_ns = header.busy_since_ns.load(std::memory_order_relaxed);
  if (busy.since_ns == 0) return busy;
  for (const auto& letter : header.busy_with) {
    const char c = letter.load(std::memory_order_relaxed);
    if (c == '\0') break;
    busy.what += c;
  }
  // In floating point: another process may have written a value far out of range, and the integer difference would overflow.
  busy.seconds = (static_cast<double>(Clock::now().time_since_epoch().count()) - static_cast<double>(busy.since_ns)) * 1e-9;
  return busy;
}

}  // namespace damaris::shm
