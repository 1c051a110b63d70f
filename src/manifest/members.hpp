// Which processes take part in the last run of a manifest, where they do not know of each other: each has said that it joined, and says
// when it ends.
// Used by: writer.hpp, on the server's dispatch thread.
// Before it: the lines of a run and of its servers. After it: the forecast of a full disk, the warning about a process that comes late.
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

  // Those that have joined and have not ended, as far as the manifest can be read; at least 1. Reads only what was added since the last
  // call, or all where another file has taken the place of the one that was read.
  std::size_t count();
  // As it was at most 30 s ago: each process writes lines that all would read, which is not worth it at every step.
  std::size_t recent_count();
  // Whether this one has joined, be it that it has ended.
  bool has(const std::string& host, int server);

 private:
  void read_on();
  void take(const std::string& line);
  bool is_another_file();

  std::string path_;
  dev_t device_ = 0;  // of the file that was read
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::set<std::pair<std::string, int>> joined_, ended_;  // host and index
  std::size_t counted_ = 0;                               // by recent_count(), at
  Clock::time_point counted_at_ = {};
};

}  // namespace damaris::manifest
