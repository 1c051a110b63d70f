#include "model/memory.hpp"

#include <iterator>

namespace damaris::explorer {
namespace {

// Not by memcpy: that is watched.
std::uint64_t get(const std::byte* place, std::size_t bytes) {
  if (bytes == 8) return *reinterpret_cast<const std::uint64_t*>(place);
  return bytes == 4 ? *reinterpret_cast<const std::uint32_t*>(place) : *reinterpret_cast<const std::uint8_t*>(place);
}

}  // namespace

bool Memory::all_before(const std::array<std::uint32_t, kMostThreads>& times, const Clock& clock) {
  for (std::size_t t = 0; t < kMostThreads; ++t)
    if (times[t] > clock.time[t]) return false;
  return true;
}

std::string Memory::note_plain(std::size_t offset, std::size_t bytes, bool is_write, int thread, const Clock& clock) {
  const auto self = static_cast<std::size_t>(thread);
  for (std::size_t at = offset / kCell; at * kCell < offset + bytes; ++at) {
    Cell& cell = this->cell(at);
    if (!cell.plain_write.before(clock) || !all_before(cell.atomic_write, clock))
      return is_write ? "writes what another thread wrote, in no order" : "reads what another thread wrote, in no order";
    if (is_write && (!all_before(cell.plain_read, clock) || !all_before(cell.atomic_read, clock)))
      return "writes what another thread read, in no order";
    if (!is_write) {
      cell.plain_read[self] = clock.time[self];
      continue;
    }
    cell.plain_write = {thread, clock.time[self]};
    // Whatever atomic object lay here is no more.
    auto it = locations_.lower_bound(at == 0 ? 0 : (at - 1) * kCell);
    while (it != locations_.end() && it->first <= at * kCell)
      it = it->first + it->second.bytes > at * kCell ? locations_.erase(it) : std::next(it);
  }
  return "";
}

std::string Memory::note_atomic(std::size_t offset, std::size_t bytes, bool is_write, int thread, const Clock& clock) {
  const auto self = static_cast<std::size_t>(thread);
  for (std::size_t at = offset / kCell; at * kCell < offset + bytes; ++at) {
    Cell& cell = this->cell(at);
    if (!cell.plain_write.before(clock)) return "touches what another thread wrote as plain bytes, in no order";
    if (is_write && !all_before(cell.plain_read, clock)) return "writes what another thread read as plain bytes, in no order";
    (is_write ? cell.atomic_write : cell.atomic_read)[self] = clock.time[self];
  }
  return "";
}

Location& Memory::location(std::size_t offset, std::size_t bytes) {
  Location& place = locations_[offset];
  if (place.stores.empty()) {
    place.bytes = bytes;
    Store first;
    first.value = get(base_ + offset, bytes);
    first.moment = cell(offset / kCell).plain_write;
    place.stores.push_back(first);
  }
  return place;
}

const Location* Memory::find(std::size_t offset) const {
  const auto found = locations_.find(offset);
  return found == locations_.end() ? nullptr : &found->second;
}

std::size_t Memory::oldest_for(const Location& location, int thread, const Clock& clock, bool is_ordered) const {
  const std::size_t seen = location.seen[static_cast<std::size_t>(thread)];
  for (std::size_t at = location.newest(); at > seen; --at) {
    const Store& store = location.stores[at];
    if (store.moment.before(clock) || (is_ordered && store.is_ordered)) return at;
  }
  return seen;
}

void Memory::put(std::size_t offset, std::size_t bytes, std::uint64_t value) {
  std::byte* place = base_ + offset;
  if (bytes == 8) *reinterpret_cast<std::uint64_t*>(place) = value;
  if (bytes == 4) *reinterpret_cast<std::uint32_t*>(place) = static_cast<std::uint32_t>(value);
  if (bytes == 1) *reinterpret_cast<std::uint8_t*>(place) = static_cast<std::uint8_t>(value);
}

}  // namespace damaris::explorer
