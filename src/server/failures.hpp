// The first failure of a server's run: for its exit status, and for clients that read it from the region.
// Used by: both sides of the server, which record each failure once.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/base/log.hpp"
#include "core/shm/layout.hpp"

namespace damaris::server {

class Failures {
 public:
  explicit Failures(shm::RegionHeader& region) : region_(region) {}

  // Also logs it.
  void record(int code, const std::string& sentence) {
    log_line(LogLevel::error, sentence);
    record_logged({code, sentence});
  }
  // A plugin's failure: the plugin host has logged it.
  void record_logged(const Status& failure) {
    if (first_.code != DC_OK) return;
    first_ = failure;
    region_.first_error.store(failure.code, std::memory_order_relaxed);
  }
  // The same without a message, for when memory is exhausted.
  void record_code(int code) noexcept {
    if (first_.code == DC_OK) first_.code = code;
  }
  const Status& first() const noexcept { return first_; }

 private:
  shm::RegionHeader& region_;
  Status first_;
};

}  // namespace damaris::server
