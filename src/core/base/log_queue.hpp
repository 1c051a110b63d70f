// A queue before the destination of log lines, with a thread of its own that writes them: a disk that hangs stops no thread that logs.
// Used by: log.cpp, any thread, one at a time.
// Before it: whole lines. After it: the destination, in the same order.
#pragma once

#include <memory>
#include <thread>

#include "core/base/creator_process.hpp"
#include "core/base/log_target.hpp"

namespace damaris {

class LogQueue final : public LogTarget {
 public:
  // A write waits up to `wait_ms` until its line is written; once that was too short, not again until all lines are.
  // Throws std::system_error if the process may have no more threads; `target` stays with the caller then.
  LogQueue(std::unique_ptr<LogTarget>& target, std::int64_t wait_ms);
  // Writes what is queued and destroys the target, both within a second; what takes longer is left to the thread. In a fork it does
  // nothing.
  ~LogQueue() override;

  // If 1 MiB of lines is queued, the line is lost, and their number is written once there is room.
  void write(std::string_view line) override;
  void set_wait(std::int64_t wait_ms) noexcept { wait_ms_ = wait_ms; }
  // Waits until all lines are written, at most `timeout_ms`. Returns whether they are.
  bool flush(std::int64_t timeout_ms);

 private:
  struct State;

  CreatorProcess creator_;
  std::int64_t wait_ms_;
  std::shared_ptr<State> state_;  // shared with the thread, which may be stuck for ever
  std::unique_ptr<std::thread> thread_;
};

}  // namespace damaris
