// A small thread pool that runs a task in parallel; the caller takes part and waits.
// Used by: the hdf5 plugin to compress chunks, from the work thread. A server has no other threads but intake, work and watchdog.
// Before it: gathered chunks. After it: the work thread writes the results in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace damaris::hdf5 {

class Workers {
 public:
  // `threads` includes the caller's; 1 starts none. Throws damaris::Error(DC_E_MEMORY) if the system refuses them.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls task(0) ... task(count - 1), each once, and returns when all are done; then rethrows the first exception of a task.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  Workers() = default;
  void work();
  void run_tasks(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t next_ = 0, count_ = 0, busy_ = 0;
  std::exception_ptr thrown_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace damaris::hdf5
