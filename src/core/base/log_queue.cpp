#include "core/base/log_queue.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::int64_t kEndMs = 1000;

}  // namespace

struct LogQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::string lines;  // whole ones
  std::size_t lost = 0;
  bool is_ending = false, has_ended = false;
  std::unique_ptr<LogTarget> target;  // the thread's until it has ended

  void serve() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return is_ending || !lines.empty(); });
      if (lines.empty()) break;
      std::string taken = std::exchange(lines, {});
      const std::size_t missing = std::exchange(lost, 0);
      lock.unlock();
      if (missing > 0) taken += format("damaris: {} lines of the log are missing here: it was not written fast enough\n", missing);
      write_lines(taken);
      lock.lock();
    }
    has_ended = true;
    changed.notify_all();
  }

  void write_lines(std::string_view all) noexcept try {
    while (!all.empty()) {
      const std::size_t end = std::min(all.find('\n'), all.size() - 1) + 1;
      target->write(all.substr(0, end));
      all.remove_prefix(end);
    }
  } catch (...) {  // no memory: the lines are lost
  }
};

LogQueue::LogQueue(std::unique_ptr<LogTarget>& target) : state_(std::make_shared<State>()) {
  state_->target = std::move(target);
  try {
    thread_ = std::make_unique<std::thread>([state = state_] {
      block_signals();
      state->serve();
    });
  } catch (...) {
    target = std::move(state_->target);
    throw;
  }
}

LogQueue::~LogQueue() { end(kEndMs); }

void LogQueue::write(std::string_view line) {
  if (!creator_.is_this_process()) return state_->target->write(line);  // a fork: it has no such thread
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->lines.size() + line.size() > kMostBytes) {
      ++state_->lost;
      return;
    }
    state_->lines.append(line);
  }
  state_->changed.notify_all();
}

std::unique_ptr<LogTarget> LogQueue::end(std::int64_t timeout_ms) {
  if (thread_ == nullptr) return nullptr;
  std::unique_ptr<std::thread> thread = std::move(thread_);
  if (!creator_.is_this_process()) {
    (void)thread.release();  // its destructor would end the process
    return nullptr;
  }
  bool has_ended = false;
  {
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->is_ending = true;
    state_->changed.notify_all();
    has_ended = state_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] { return state_->has_ended; });
  }
  if (!has_ended) {
    thread->detach();
    return nullptr;
  }
  thread->join();
  return std::move(state_->target);
}

}  // namespace damaris
