#include "replay/plan.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::replay {

std::uint32_t Plan::process_of(std::uint32_t operation) const {
  const auto behind = std::upper_bound(processes.begin(), processes.end(), operation,
                                       [](std::uint32_t one, const Process& process) { return one < process.end; });
  return static_cast<std::uint32_t>(behind - processes.begin());
}

std::string Plan::text_of(std::uint32_t operation) const {
  const Operation& one = operations[operation];
  const char letter = kLetters[static_cast<std::size_t>(one.kind)];
  if (is_io(one.kind)) return format("{} {}", letter, files[one.object].number);
  if (is_message(one.kind)) return format("{} {}", letter, messages[one.object].number);
  if (is_collective(one.kind)) return format("{} {}", letter, collectives[one.object].number);
  return format("{} {}", letter, one.ns);
}

std::uint64_t Plan::bytes_needed() const {
  std::vector<std::uint64_t> reach(files.size()), written(files.size());
  std::vector<bool> appends(files.size());
  for (const Operation& one : operations) {
    if (one.kind == Kind::open && (one.flags & kAppend) != 0) appends[one.object] = true;
    if (one.kind != Kind::write) continue;
    reach[one.object] = std::max(reach[one.object], one.offset + one.bytes);
    written[one.object] += one.bytes;
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::uint64_t most = files[i].initial_bytes + written[i];
    sum += std::max(files[i].initial_bytes, appends[i] ? most : std::min(reach[i], most));
  }
  return sum;
}

}  // namespace damaris::replay
