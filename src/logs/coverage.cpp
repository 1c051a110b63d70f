#include "logs/coverage.hpp"

#include <algorithm>
#include <iterator>

namespace damaris::logs {

Coverage::Place Coverage::look_up(const Extent& extent) const {
  const std::uint64_t end = extent.offset + extent.bytes;
  auto next = parts_.upper_bound(extent.offset);
  if (next != parts_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= end) return Place::stored;
    if (before->second > extent.offset) return Place::overlaps;
  }
  return next != parts_.end() && next->first < end ? Place::overlaps : Place::free;
}

void Coverage::add(const Extent& extent) {
  std::uint64_t begin = extent.offset, end = extent.offset + extent.bytes;
  auto next = parts_.upper_bound(begin);
  if (next != parts_.begin() && std::prev(next)->second >= begin) --next;
  while (next != parts_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = parts_.erase(next);
  }
  parts_.emplace(begin, end);
}

std::vector<Extent> Coverage::holes() const {
  std::vector<Extent> found;
  std::uint64_t at = 0;
  for (const auto& [begin, end] : parts_) {
    if (begin > at) found.push_back({at, begin - at});
    at = end;
  }
  return found;
}

}  // namespace damaris::logs
