// Finds the index of a name, without an allocation: an open table of hashes, and all names in one string.
// Used by: names.hpp, off the path of a write. The table that a client looks its variables up in is variable_table.hpp.
// Before it: the model. After it: an index into one of its lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace damaris::model {

// Of the name. The same in every process of a build.
std::uint32_t hash_of(std::string_view name) noexcept;

// The number of places of a table for so many names: a power of two, at least half of them unused.
std::uint64_t places_for(std::uint64_t names) noexcept;

class NameTable {
 public:
  static constexpr int kNone = -1;

  explicit NameTable(std::size_t names);
  // Threads: any. Returns kNone for a name that has not been set.
  int find(std::string_view name) const noexcept;
  // Adds the name, or gives it another value. No more names than the table was made for.
  void set(std::string_view name, int value);

 private:
  struct Entry {
    std::uint32_t hash = 0, offset = 0, length = 0;
    int value = kNone;
    bool used = false;
  };
  std::size_t place_of(std::string_view name, std::uint32_t hash) const noexcept;

  std::vector<Entry> entries_;  // places_for the names
  std::string names_;
};

}  // namespace damaris::model
