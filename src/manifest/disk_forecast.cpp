#include "disk_forecast.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace damaris::manifest {
namespace {

constexpr std::size_t kRecentSteps = 4;
constexpr std::uint64_t kThresholds[] = {10, 3, 1};  // steps

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

DiskForecast::Notice DiskForecast::stored(std::uint64_t bytes) {
  struct statvfs facts = {};
  if (::statvfs(folder_.c_str(), &facts) != 0 || facts.f_blocks == 0) return {};  // the file system does not report its size
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
  const std::uint64_t before = std::exchange(free_before_, free_bytes);
  return stored(std::max(bytes, before - std::min(before, free_bytes)), free_bytes);
}

DiskForecast::Notice DiskForecast::stored(std::uint64_t bytes, std::uint64_t free_bytes) {
  last_.push_back(bytes);
  if (last_.size() > kRecentSteps) last_.pop_front();
  const std::uint64_t mean =
      std::max<std::uint64_t>(std::accumulate(last_.begin(), last_.end(), std::uint64_t{0}) / last_.size(), 1);
  const std::uint64_t fit = free_bytes / mean;
  const auto passed = static_cast<std::size_t>(
      std::count_if(std::begin(kThresholds), std::end(kThresholds), [&](auto threshold) { return fit < threshold; }));
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
