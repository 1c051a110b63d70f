#include "trace/requests.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace damaris::trace {

std::vector<dt_request> pair_requests(const std::vector<dt_call>& calls, std::vector<RequestSlot> slots) {
  std::vector<dt_request> pairs;
  std::unordered_map<std::uint64_t, std::deque<std::size_t>> alive;  // by handle: which of the pairs
  const auto ends_earlier = [&](const RequestSlot& x, const RequestSlot& y) { return calls[x.call].end < calls[y.call].end; };
  std::stable_sort(slots.begin(), slots.end(), ends_earlier);
  for (const auto& [call, slot] : slots) {
    const auto here = static_cast<std::int64_t>(call);
    if (slot.function == requested) {
      alive[slot.begin].push_back(pairs.size());
      pairs.push_back({here, -1, -1, 0, 0});
      continue;
    }
    if ((slot.flags & half) != 0) {
      pairs.push_back({here, here, slot.place, slot.bytes, slot.flags});
      continue;
    }
    const auto found = alive.find(slot.begin);
    if (found == alive.end()) continue;  // made by a function that has no wrapper
    dt_request& pair = pairs[found->second.front()];
    pair = {pair.start, here, slot.place, slot.bytes, slot.flags};
    found->second.pop_front();
    if (found->second.empty()) alive.erase(found);
  }
  return pairs;
}

}  // namespace damaris::trace
