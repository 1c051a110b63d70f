// When the storage tries again what the file system refused, and when it gives that up.
// Used by: the manifest's writer and the hdf5 plugin, on the server's dispatch thread; none of it waits.
// Before it: a failed try. After it: the next one, or the sentence for the clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace damaris {

using Instant = std::chrono::steady_clock::time_point;

// Time counts from the failure that began the trouble, or from when a thing was there to be stored if that was later. So what has waited
// behind one that was given up is not waited for as long again: all is over `window` after the last of it has come.
class Retry {
 public:
  explicit Retry(std::int64_t window_ms) : window_(window_ms) {}

  // A try that began at `begun` has failed with `error`, an errno, at `now`, of a thing that is there since `since`. Returns whether it is
  // to be tried again: then not before resting() is over.
  bool again(int error, Instant since, Instant begun, Instant now);
  bool resting(Instant now) const { return now < next_; }
  // What was tried is stored: the trouble is over.
  void stored();
  // The next thing is tried; the trouble may go on.
  void next_thing();

  // Of the present thing: tries that have failed, and the time since the first of them began.
  int failed() const { return failed_; }
  double seconds(Instant now) const;
  // "4 tries within 12.3 s"
  std::string effort(Instant now) const;

 private:
  std::chrono::milliseconds window_;
  std::optional<Instant> trouble_since_, first_;
  Instant next_ = {};
  Instant::duration pause_ = {};
  int failed_ = 0;
};

// Whether a failure with this errno may pass without anybody changing the run.
bool may_pass(int error);

}  // namespace damaris
