// When the storage retries an operation that the file system refused, and when it gives up.
// Used by: the manifest's writer and the hdf5 plugin, on the server's dispatch thread; none of it waits.
// Before it: a failed try. After it: the next one, or the sentence for the clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/clock.hpp"

namespace damaris {

// Time counts from the first failure, or from the arrival of the item if that was later. So an item that has waited behind one that was
// given up does not wait as long again: all retries end `window` after the last item has arrived.
class Retry {
 public:
  explicit Retry(std::int64_t window_ms) : window_(window_ms) {}

  // A try that began at `begun` has failed with `error`, an errno, at `now`; its item arrived at `since`. Returns whether to try again, not
  // before resting() is over.
  bool again(int error, Instant since, Instant begun, Instant now);
  bool resting(Instant now) const { return now < next_; }
  // The item is stored: the failure is over.
  void stored();
  // The next item is tried; the failure may persist.
  void next_thing();

  // Of the current item: failed tries, and the time since the first of them began.
  int failed() const { return failed_; }
  double seconds(Instant now) const;
  // "4 tries within 12.3 s"
  std::string effort(Instant now) const;

 private:
  std::chrono::milliseconds window_;
  std::optional<Instant> failing_since_, first_;
  Instant next_ = {};
  Instant::duration pause_ = {};
  int failed_ = 0;
};

// Whether a failure with this errno may be transient.
bool may_be_transient(int error);

}  // namespace damaris
