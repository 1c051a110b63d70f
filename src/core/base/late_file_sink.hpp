// A file of the log that is made with its first line. Private to log.cpp.
// Used by: any thread, under the sink's mutex.
#pragma once

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "core/base/own_file.hpp"

namespace damaris {

class LateFileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LateFileSink(std::string path) : path_(std::move(path)) {}
  ~LateFileSink() override {
    write_waiting();
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (waiting_.size() + line.size() <= kMostWaiting) waiting_.append(line.data(), line.size());
    write_waiting();
  }
  void flush_() override {}

 private:
  static constexpr std::size_t kMostWaiting = std::size_t{64} << 10;

  void write_waiting() {
    if (waiting_.empty()) return;
    if (descriptor_ < 0) open();
    if (descriptor_ >= 0 && ::write(descriptor_, waiting_.data(), waiting_.size()) >= 0) waiting_.clear();
  }

  // Only a plain file of this user: the folder may be one that others write to. Where another one's has the name, beside it.
  void open() {
    descriptor_ = open_own(path_, O_WRONLY | O_APPEND | O_CREAT, 0644);
    struct stat planted = {};
    std::string beside;
    if (descriptor_ < 0 && ::lstat(path_.c_str(), &planted) == 0 && planted.st_uid != ::geteuid())
      descriptor_ = make_own(path_ + ".", beside, O_WRONLY | O_APPEND, 0644);
  }

  std::string path_;
  int descriptor_ = -1;
  std::string waiting_;
};

}  // namespace damaris
