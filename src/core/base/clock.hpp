// Monotonic time and deadlines, so that every wait has a bound; the time of day as text; and when the storage tries again what the file
// system refused.
// Used by: every folder, any thread; Retry by the hdf5 plugin, on the server's work thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace damaris {

using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;

class Deadline {
 public:
  static Deadline after_ms(std::int64_t timeout_ms) { return Deadline(Clock::now() + std::chrono::milliseconds(timeout_ms)); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  bool expired() const { return Clock::now() >= end_; }
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

// The retry policy of the storage. Never blocks. Without a window there is no limit. Otherwise time counts from the first failure, or from
// the arrival of the item if that was later. So an item that was queued behind a failed one is not retried for another full window: all
// retries end `window` after the last item has arrived.
class Retry {
 public:
  explicit Retry(std::optional<std::int64_t> window_ms) {
    if (window_ms) window_.emplace(*window_ms);
  }

  // Records a try that began at `begun` and failed with the errno `error` at `now`; its item arrived at `since`. Returns true if there is
  // time for another one, once resting() returns false.
  bool again(int error, Instant since, Instant begun, Instant now);
  bool resting(Instant now) const { return now < next_; }
  // The item is stored: the failure has ended.
  void stored();
  // Moves on to the next item; the failure may persist.
  void next_thing();

  // Failed tries of the current item, and the time since the first of them began.
  int failed() const { return failed_; }
  double seconds(Instant now) const;
  // "4 tries within 12.3 s"
  std::string tries_text(Instant now) const;

 private:
  std::optional<std::chrono::milliseconds> window_;
  std::optional<Instant> failing_since_, first_;
  Instant next_ = {};
  Instant::duration pause_ = {};
  int failed_ = 0;
};

// True if a failure with this errno may pass, by itself or because its cause is mended, and then concerns no single step.
bool may_be_transient(int error);

}  // namespace damaris
