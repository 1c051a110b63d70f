// The processes of the last run of a manifest, if they are independent: each records in the manifest that it joined, and that it
// ended.
// Used by: writer.hpp, on the server's work thread.
// Before it: the lines of a run and of its servers. After it: the forecast of a full disk, the warning about a late process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "core/base/clock.hpp"

namespace damaris::manifest {

class Members {
 public:
  explicit Members(std::string path) : path_(std::move(path)) {}

  // The number of those that have joined and not ended, as far as the manifest is readable; at least 1. Reads only the lines added
  // since the last call, or all if the file was replaced.
  std::size_t count();
  // The count as of at most 30 s ago: every process adds lines, and reading those of all processes at every step would cost too
  // much.
  std::size_t recent_count();
  // Whether this process has joined, even if it has ended.
  bool has(const std::string& host, int server);

 private:
  void read_on();
  void take(const std::string& line);
  bool file_was_replaced();

  std::string path_;
  dev_t device_ = 0;  // of the file read
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::set<std::pair<std::string, int>> joined_, ended_;  // host and index
  std::size_t counted_ = 0;                               // by recent_count(), at counted_at_
  Clock::time_point counted_at_ = {};
};

}  // namespace damaris::manifest
