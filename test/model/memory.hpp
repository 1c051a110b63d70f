// Shared memory with its past: which stores each thread may still see, and which accesses race.
// Used by: the explorer of the model tests; one run each.
// Before it: the accesses of the code under test. After it: values, and the first race.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/clock.hpp"

namespace damaris::explorer {

struct Store {
  std::uint64_t value = 0;
  Moment moment;
  Clock release;            // what an acquire that reads it learns
  bool is_ordered = false;  // seq_cst
};

// The past of one atomic object.
struct Location {
  std::size_t bytes = 0;
  std::vector<Store> stores;  // in the order of modification
  std::array<std::size_t, kMostThreads> seen = {};
  std::size_t newest() const { return stores.size() - 1; }
};

class Memory {
 public:
  // What is known of `base` at the begin of each run: nothing.
  explicit Memory(std::byte* base) : base_(base), cells_(kMemoryBytes / kCell) {}
  void forget() {
    ++run_;
    locations_.clear();
  }

  bool holds(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= base_ && byte < base_ + kMemoryBytes;
  }
  std::size_t offset(const void* address) const { return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_); }

  // Each returns what is wrong, "" when nothing is.
  std::string note_plain(std::size_t offset, std::size_t bytes, bool is_write, int thread, const Clock& clock);
  std::string note_atomic(std::size_t offset, std::size_t bytes, bool is_write, int thread, const Clock& clock);
  // The atomic object there, with what the memory holds as its first value when it is new.
  Location& location(std::size_t offset, std::size_t bytes);
  const Location* find(std::size_t offset) const;
  // The oldest store that `thread` may read.
  std::size_t oldest_for(const Location& location, int thread, const Clock& clock, bool is_ordered) const;
  void put(std::size_t offset, std::size_t bytes, std::uint64_t value);

 private:
  static constexpr std::size_t kCell = 2;
  // Last accesses of two bytes. Times of thread t are of its own clock, 0: never.
  struct Cell {
    std::uint64_t run = 0;  // of what follows; an older one: nothing is known
    Moment plain_write;
    std::array<std::uint32_t, kMostThreads> plain_read = {}, atomic_write = {}, atomic_read = {};
  };
  Cell& cell(std::size_t index) {
    if (cells_[index].run != run_) cells_[index] = {run_, {}, {}, {}, {}};
    return cells_[index];
  }
  static bool all_before(const std::array<std::uint32_t, kMostThreads>& times, const Clock& clock);

  std::byte* base_;
  std::uint64_t run_ = 0;
  std::vector<Cell> cells_;
  std::map<std::size_t, Location> locations_;
};

}  // namespace damaris::explorer
