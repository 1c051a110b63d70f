// The variables of a model as a table without pointers, which the server puts into the region and clients read there, so that the variables
// take no memory of each client.
// Used by: make_region (writes it); each client, on the path of a write by name. Threads: any, the table is constant.
// Before it: the model. After it: the client's object of a variable.
//
// [header | entries, by id | places of the hashes | schedules | text of long names]
// Entries are in the order of the XML, in which most programs write: a client that guesses the next one reads a single line of the cache,
// which it has asked for during the write before.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

// What a client needs besides the name.
struct DeclaredVariable {
  std::size_t layout = 0;
  int priority = 0;
  OnFull on_full = OnFull::block;
  bool enabled = true;
  StepSelection schedule;
};

// The bytes of the table.
std::string variable_table_of(const Model& model);

// A view of such bytes, which must outlive it. They may be damaged, and be overwritten at any time: whatever they are, nothing outside them
// is read.
class VariableTable {
 public:
  static constexpr int kNone = -1;

  VariableTable() = default;  // without variables
  // `layouts`: how many the model has. Throws Error(DC_E_CONFIG) if the bytes are no such table, or an index in it is out of range.
  VariableTable(std::string_view bytes, std::size_t layouts);

  std::uint32_t size() const noexcept { return count_; }
  // By full path and, where it is unique, by bare name, as VariableNames. Returns the id, or kNone.
  int find(std::string_view name) const noexcept;
  // The same, in one comparison if the variable is `guess`.
  int find(std::string_view name, std::uint32_t guess) const noexcept {
    return is_named(guess, name) ? static_cast<int>(guess) : find(name);
  }
  void prefetch(std::uint32_t id) const noexcept {
    if (id < count_) __builtin_prefetch(entries_ + id);
  }
  // `id` < size().
  std::string_view path(std::uint32_t id) const noexcept { return text_of(entries_[id], read_once(entries_[id].length)); }
  // Throws as the constructor.
  DeclaredVariable at(std::uint32_t id) const;
  // False if no variable may be skipped, or its step dropped.
  bool may_omit() const noexcept { return may_omit_; }

 private:
  friend class TableWriter;

  static constexpr std::uint64_t kMagic = 0x31524156'4d414d44;  // the bytes "DMAMVAR1"; another one for another form
  static constexpr std::uint32_t kInline = 40;
  struct Header {
    std::uint64_t magic;
    std::uint32_t count, schedules, may_omit, unused[11];
  };
  // One line of the cache.
  struct Entry {
    std::uint32_t layout;
    std::int32_t priority;
    std::uint32_t schedule;  // 0: in every step; otherwise the schedule before
    std::uint32_t length;    // of the path
    std::uint32_t bare;      // of the bare name, with which the path ends; 0: not found by it
    std::uint8_t on_full, enabled, unused[2];
    char name[kInline];  // the path or, if that is longer, its offset in the text
  };
  struct Place {
    std::uint32_t hash;
    std::uint32_t next_id;  // id + 1, or 0: unused
  };
  struct Schedule {
    std::int64_t every, from, until;
  };
  static_assert(sizeof(Header) == 64 && sizeof(Entry) == 64 && sizeof(Place) == 8);

  // Another process can change the value after it has been checked.
  template <class Value>
  static Value read_once(const Value& value) noexcept {
    return __atomic_load_n(&value, __ATOMIC_RELAXED);
  }
  // "" for a name outside the text.
  std::string_view text_of(const Entry& entry, std::uint32_t length) const noexcept {
    return length <= kInline ? std::string_view(entry.name, length) : long_text_of(entry, length);
  }
  std::string_view long_text_of(const Entry& entry, std::uint32_t length) const noexcept;
  bool is_named(std::uint32_t id, std::string_view name) const noexcept {
    if (id >= count_) return false;
    const Entry& entry = entries_[id];
    const std::uint32_t length = read_once(entry.length), bare = read_once(entry.bare);
    if (length != name.size() && (bare != name.size() || bare > length || bare == 0)) return false;
    const std::string_view path = text_of(entry, length);
    return path.size() == length && std::memcmp(path.data() + (length - name.size()), name.data(), name.size()) == 0;
  }
  void check_entries() const;
  void check_places() const;

  std::uint32_t count_ = 0, schedule_count_ = 0;
  bool may_omit_ = false;
  std::uint64_t mask_ = 0;  // of a place
  std::uint64_t text_bytes_ = 0;
  std::size_t layouts_ = 0;
  const Entry* entries_ = nullptr;
  const Place* places_ = nullptr;
  const Schedule* schedules_ = nullptr;
  const char* text_ = nullptr;
};

}  // namespace damaris::model
