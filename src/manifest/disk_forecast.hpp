// Estimates how many more steps fit into the file system of the output.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: a stored step. After it: a warning in the log and in the manifest.
#pragma once

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

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
  static constexpr std::size_t kRecentSteps = 4;
  static constexpr std::uint64_t kThresholds[] = {10, 3, 1};  // steps

  std::string folder_;
  std::uint64_t free_before_ = 0;   // at the last step
  std::deque<std::uint64_t> last_;  // bytes of the last steps
  std::size_t passed_ = 0;          // thresholds reported
};

inline DiskForecast::Notice DiskForecast::stored(std::uint64_t bytes) {
  struct statvfs facts = {};
  if (::statvfs(folder_.c_str(), &facts) != 0 || facts.f_blocks == 0) return {};  // the file system does not report its size
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
  const std::uint64_t before = std::exchange(free_before_, free_bytes);
  return stored(std::max(bytes, before - std::min(before, free_bytes)), free_bytes);
}

inline DiskForecast::Notice DiskForecast::stored(std::uint64_t bytes, std::uint64_t free_bytes) {
  last_.push_back(bytes);
  if (last_.size() > kRecentSteps) last_.pop_front();
  const std::uint64_t mean =
      std::max<std::uint64_t>(std::accumulate(last_.begin(), last_.end(), std::uint64_t{0}) / last_.size(), 1);
  const std::uint64_t fit = free_bytes / mean;
  const auto passed = static_cast<std::size_t>(
      std::count_if(std::begin(kThresholds), std::end(kThresholds), [&](auto threshold) { return fit < threshold; }));
  const auto mebibytes = [](std::uint64_t size) { return std::to_string(size >> 20) + " MiB"; };
  const std::string room = "room for " + std::to_string(fit) + " more steps in '" + folder_ + "' (" + mebibytes(free_bytes) +
                           " free, " + mebibytes(mean) + " each)";
  if (passed > passed_) {
    passed_ = passed;
    return {NoticeKind::warning, room + "; free space there, or write less"};
  }
  if (passed_ == 0 || fit < 2 * kThresholds[0]) return {};
  passed_ = 0;
  return {NoticeKind::relief, "there is room again: " + room};
}

}  // namespace damaris::manifest
