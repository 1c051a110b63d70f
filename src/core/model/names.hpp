// Looks up the names of a model, without an allocation: an open table of hashes, and all names in one string.
// Used by: the configuration, and make_region for the table of the variables; each client, for what its frame has. Off the path of a
// write: the table that a client looks its variables up in is variable_table.hpp.
// Before it: a model, or its frame. After it: an index into one of its lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.hpp"

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

// Each function returns -1 if the name is unknown.
class FrameNames {
 public:
  explicit FrameNames(const Frame& frame);
  int layout(std::string_view name) const { return layouts_.find(name); }
  int event(std::string_view name) const { return events_.find(name); }
  int parameter(std::string_view name) const { return parameters_.find(name); }

 private:
  NameTable layouts_, events_, parameters_;
};

// Finds variables by full path and, where it is unique, by bare name. A full path takes precedence over an equal bare name.
class VariableNames {
 public:
  explicit VariableNames(const Model& model);
  int find(std::string_view name) const;

 private:
  NameTable table_;
};

}  // namespace damaris::model
