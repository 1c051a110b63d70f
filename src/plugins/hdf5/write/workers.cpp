#include "workers.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace damaris::hdf5 {

// It delegates, so the destructor joins those that there are when one more is refused.
Workers::Workers(int threads) try : Workers() {
  threads_.reserve(static_cast<std::size_t>(std::max(threads, 1)));
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
} catch (const std::system_error& refused) {
  throw Error(DC_E_MEMORY, "the system refuses the " + std::to_string(threads) +
                               " threads of threads=\"...\": " + refused.code().message() +
                               "; raise ulimit -u, ulimit -v or pids.max of the control group, or set fewer");
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    begin_.wait(lock, [this] { return over_ || next_ < count_; });
    if (over_) return;
    run_tasks(lock);
  }
}

void Workers::run_tasks(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t mine = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*task_)(mine);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    --busy_;
    if (thrown != nullptr && thrown_ == nullptr) thrown_ = thrown;
  }
  if (busy_ == 0) end_.notify_all();
}

void Workers::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::unique_lock<std::mutex> lock(mutex_);
  task_ = &task;
  next_ = 0;
  count_ = count;
  if (count > 1) begin_.notify_all();
  run_tasks(lock);
  end_.wait(lock, [this] { return busy_ == 0; });
  count_ = next_ = 0;
  if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
}

}  // namespace damaris::hdf5
