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
  // Throws std::system_error if the process may have no more threads; `target` stays with the caller then.
  explicit LogQueue(std::unique_ptr<LogTarget>& target);
  // As end() with a second.
  ~LogQueue() override;

  // Never waits. If 1 MiB of lines is queued, the line is lost, and their number is written once there is room.
  void write(std::string_view line) override;
  // Writes what is queued and returns the destination. nullptr if that takes longer than `timeout_ms`, or in a fork of the process: the
  // thread keeps the destination then.
  std::unique_ptr<LogTarget> end(std::int64_t timeout_ms);

 private:
  struct State;

  CreatorProcess creator_;
  std::shared_ptr<State> state_;  // shared with the thread, which may be stuck for ever
  std::unique_ptr<std::thread> thread_;
};

}  // namespace damaris
