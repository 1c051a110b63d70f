// Which parts of a file are stored: from it follow where the next append goes, what is stored already, and the holes.
// Used by: the writer and the reader of logs, one thread.
// Before it: the entries of an index. After it: appends that a recovery need not store again; holes that a reader skips.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace damaris::logs {

struct Extent {
  std::uint64_t offset = 0, bytes = 0;
};

class Coverage {
 public:
  enum class Place { free, stored, overlaps };
  // Whether nothing of the extent is stored, all of it, or a part.
  Place look_up(const Extent& extent) const;
  void add(const Extent& extent);
  // One past the last stored byte.
  std::uint64_t end() const { return parts_.empty() ? 0 : parts_.rbegin()->second; }
  // What lies before the end and is not stored, ascending.
  std::vector<Extent> holes() const;

 private:
  std::map<std::uint64_t, std::uint64_t> parts_;  // begin -> end; they do not touch each other
};

}  // namespace damaris::logs
