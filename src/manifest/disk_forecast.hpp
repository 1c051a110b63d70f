// Estimates how many more steps fit into the file system of the output.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: a stored step. After it: a warning in the log and in the manifest.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace damaris::manifest {

class DiskForecast {
 public:
  enum class NoticeKind { none, warning, relief };
  struct Notice {
    NoticeKind kind = NoticeKind::none;
    std::string sentence;
  };

  explicit DiskForecast(std::string folder) : folder_(std::move(folder)) {}

  // Takes note of a stored step of `bytes`, or of what the free space has shrunk by since the last one, which counts all servers, if that
  // is more. Returns a warning when fewer than 10, 3 or 1 more steps of the recent size fit, once per threshold, and an all-clear when
  // there is room again for twice as many. Ignores quotas.
  Notice stored(std::uint64_t bytes);
  // The same with a given free space.
  Notice stored(std::uint64_t bytes, std::uint64_t free_bytes);

 private:
  std::string folder_;
  std::uint64_t free_before_ = 0;   // at the last step
  std::deque<std::uint64_t> last_;  // bytes of the last steps
  std::size_t passed_ = 0;          // thresholds reported
};

}  // namespace damaris::manifest
