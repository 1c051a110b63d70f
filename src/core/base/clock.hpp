// Monotonic time and deadlines, so that every wait has a bound; the time of day as text.
// Used by: every folder, any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace damaris {

using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;

class Deadline {
 public:
  static Deadline after_ms(std::int64_t timeout_ms) { return Deadline(Clock::now() + std::chrono::milliseconds(timeout_ms)); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  bool passed() const { return Clock::now() >= end_; }
  // The remaining time, at least 0 and at most `limit_ms`.
  std::int64_t left_ms(std::int64_t limit_ms) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return std::clamp<std::int64_t>(left, 0, limit_ms);
  }

 private:
  explicit Deadline(Clock::time_point end) : end_(end) {}
  Clock::time_point end_;
};

inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The time of day in UTC, for files and the manifest: "2025-03-01T12:00:00Z". In damaris_base, which our plugins link.
std::string utc_now();
// The same to the millisecond: "2025-03-01T12:00:00.123Z".
std::string utc_now_ms();

}  // namespace damaris
