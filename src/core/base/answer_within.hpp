// Asks what a disk that hangs may never answer, on a thread of its own.
// Used by: looks at the log, the configuration and the output's folder; any thread, off the hot path.
// Before it: a call that may block for ever. After it: its result, or none.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/process_guard.hpp"

namespace damaris {

// The result of `work`; nothing if it has not returned within `timeout_ms`: its thread is left behind then, so it must own what it uses.
// Throws what `work` throws, and std::system_error if the process may have no more threads.
template <class Work>
auto answer_within(std::int64_t timeout_ms, Work work) -> std::optional<decltype(work())> {
  std::packaged_task<decltype(work())()> task(std::move(work));
  auto answer = task.get_future();
  std::thread thread(
      [](auto own_task) {
        block_signals();
        own_task();
      },
      std::move(task));
  if (answer.wait_for(std::chrono::milliseconds(timeout_ms)) != std::future_status::ready) {
    thread.detach();
    return std::nullopt;
  }
  thread.join();
  return answer.get();
}

// The same, but where the process may have no more threads it waits as long as `work` takes, and may begin it twice.
template <class Work>
auto answer_within_or_wait(std::int64_t timeout_ms, Work work) -> std::optional<decltype(work())> try {
  return answer_within(timeout_ms, work);
} catch (const std::system_error&) {
  return work();
}

}  // namespace damaris
