#include "core/base/answer_within.hpp"

#include <chrono>
#include <future>
#include <thread>

#include "core/base/process_guard.hpp"

namespace damaris {

bool returns_within(std::int64_t timeout_ms, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  const std::future<void> end = task.get_future();
  std::thread thread(
      [](std::packaged_task<void()> own_task) {
        block_signals();
        own_task();
      },
      std::move(task));
  if (end.wait_for(std::chrono::milliseconds(timeout_ms)) != std::future_status::ready) {
    thread.detach();
    return false;
  }
  thread.join();
  return true;
}

}  // namespace damaris
