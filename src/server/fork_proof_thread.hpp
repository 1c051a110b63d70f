// A thread that its creator waits for; a fork of the process has no such thread, and waits for none.
// Used by: the server, for its intake side and its watchdog.
// Before it: a loop that another thread ends. After it: join.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "core/base/creator_process.hpp"

namespace damaris::server {

class ForkProofThread {
 public:
  // Throws std::system_error if the process may have no more threads.
  template <class Work>
  explicit ForkProofThread(Work&& work) : thread_(std::make_unique<std::thread>(std::forward<Work>(work))) {}
  ~ForkProofThread() {
    if (creator_.is_this_process())
      thread_->join();
    else
      (void)thread_.release();  // its destructor would end the process
  }
  ForkProofThread(const ForkProofThread&) = delete;
  ForkProofThread& operator=(const ForkProofThread&) = delete;

 private:
  CreatorProcess creator_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace damaris::server
