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
  bool is_ending = false;
  bool is_writing = false;            // lines that the thread has taken
  bool is_stuck = false;              // a write has waited in vain, and not all lines are written since
  bool is_over = false;               // the thread has written all lines and destroyed the target
  std::unique_ptr<LogTarget> target;  // the thread's

  void serve() {
    std::unique_lock<std::mutex> lock(mutex);
    write_until_end(lock);
    lock.unlock();
    target.reset();  // the disk may hang when the file is closed, too
    lock.lock();
    is_over = true;
    changed.notify_all();
  }
  void write_until_end(std::unique_lock<std::mutex>& lock) {
    while (true) {
      changed.wait(lock, [this] { return is_ending || !lines.empty(); });
      if (lines.empty()) break;
      is_writing = true;
      std::string taken = std::exchange(lines, {});
      const std::size_t missing = std::exchange(lost, 0);
      lock.unlock();
      if (missing > 0) taken += format("damaris: {} lines of the log are missing here: it was not written fast enough\n", missing);
      write_lines(taken);
      lock.lock();
      is_writing = false;
      is_stuck = is_stuck && !lines.empty();
      changed.notify_all();
    }
  }
  bool is_written() const { return lines.empty() && !is_writing; }

  void write_lines(std::string_view all) noexcept try {
    while (!all.empty()) {
      const std::size_t end = std::min(all.find('\n'), all.size() - 1) + 1;
      target->write(all.substr(0, end));
      all.remove_prefix(end);
    }
  } catch (...) {  // no memory: the lines are lost
  }
};

LogQueue::LogQueue(std::unique_ptr<LogTarget>& target, std::int64_t wait_ms)
    : wait_ms_(wait_ms), state_(std::make_shared<State>()) {
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

void LogQueue::write(std::string_view line) {
  if (!creator_.is_this_process()) return state_->target->write(line);  // a fork: it has no such thread
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (state_->lines.size() + line.size() > kMostBytes) {
    ++state_->lost;
    return;
  }
  state_->lines.append(line);
  state_->changed.notify_all();
  if (wait_ms_ == 0 || state_->is_stuck) return;
  state_->is_stuck = !state_->changed.wait_for(lock, std::chrono::milliseconds(wait_ms_), [this] { return state_->is_written(); });
}

bool LogQueue::flush(std::int64_t timeout_ms) {
  if (!creator_.is_this_process()) return true;
  std::unique_lock<std::mutex> lock(state_->mutex);
  return state_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] { return state_->is_written(); });
}

LogQueue::~LogQueue() {
  if (!creator_.is_this_process()) {
    (void)thread_.release();  // its destructor would end the process
    return;
  }
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->is_ending = true;
  state_->changed.notify_all();
  const bool is_over = state_->changed.wait_for(lock, std::chrono::milliseconds(kEndMs), [this] { return state_->is_over; });
  lock.unlock();
  if (is_over)
    thread_->join();
  else
    thread_->detach();
}

}  // namespace damaris
