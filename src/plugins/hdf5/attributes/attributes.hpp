// The attributes of <hdf5>, defined once: valid values, defaults, and what they exclude; and parsers for those with a grammar, the list of
// filters and the basename.
// Used by: config, at start-up and in `damaris check`, and the plugin's settings. Needs neither HDF5 nor Xerces-C.
// Before it: config-schemas/damaris.xsd, which a test compares with this table. After it: config/storage.cpp checks, settings.hpp reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace damaris::hdf5 {

enum class ValueKind { basename, choice, count, bytes, duration, filters, reduction, text };

struct StorageAttribute {
  std::string_view name;
  ValueKind kind;
  std::int64_t preset;           // the default: a number, bytes, milliseconds, the index of a choice, or kNone
  std::int64_t lowest, highest;  // inclusive limits of a number, bytes or milliseconds
  std::array<std::string_view, 4> choices;
  std::string_view meaning;
};

constexpr std::int64_t kNone = -1;                               // no default: without the attribute there is no such limit
constexpr std::int64_t kMost = 1'000'000;                        // servers
constexpr std::int64_t kLongest = 24ll * 24 * 3600 * 1000;       // milliseconds: 24 days, which fit into 32 bits
constexpr std::int64_t kLeastMemory = std::int64_t{16} << 20;    // bytes
constexpr std::int64_t kUsualMemory = std::int64_t{1024} << 20;  // bytes

constexpr StorageAttribute kAttributes[] = {
    {"basename", ValueKind::basename, 0, 0, 0, {}, "folder and start of the file names; the simulation's name if not given"},
    {"files",
     ValueKind::choice,
     0,
     0,
     0,
     {"per-server", "per-group", "single"},
     "which servers write a file of each step together"},
    {"group-size", ValueKind::count, 4, 1, kMost, {}, "per-group: servers that write a file together"},
    {"filters", ValueKind::filters, 0, 0, 0, {}, "filters of HDF5, in their order"},
    {"reduce", ValueKind::reduction, 0, 0, 0, {}, "the reduce of variables without their own"},
    {"threads", ValueKind::count, 1, 1, 64, {}, "threads that compress chunks"},
    {"memory", ValueKind::bytes, kUsualMemory, kLeastMemory, INT64_MAX, {}, "what the plugin may take beyond the region"},
    {"restart", ValueKind::basename, 0, 0, 0, {}, "basename of the run that clients may read from"},
    {"schedule", ValueKind::choice, 0, 0, 0, {"immediate", "slots", "coordinated"}, "when a server writes"},
    {"writers", ValueKind::count, 1, 1, kMost, {}, "coordinated: servers that may write at the same time"},
    {"turn-timeout",
     ValueKind::duration,
     60'000,
     1,
     kLongest,
     {},
     "how long a server waits for its turn, or for the others of a file"},
    {"retry", ValueKind::duration, kNone, 0, kLongest, {}, "how long at most to retry what the file system refuses"},
    {"time-unit", ValueKind::text, 0, 0, 0, {}, "unit of dc_set_time in the views"},
    {"exists", ValueKind::choice, 0, 0, 0, {"auto", "overwrite", "refuse", "append"}, "what happens to files of an earlier run"},
};

// Settings elsewhere in the XML that an attribute can exclude.
enum class OtherSetting { no_dedicated_cores, schedule, reduce_on_full, zstd, float16 };

struct Exclusion {
  std::string_view attribute;
  std::string_view choice;  // of the attribute; empty: any but the default
  OtherSetting other;
  std::string_view why;  // with the remedy; {} is replaced by the other setting
};

constexpr Exclusion kExclusions[] = {
    {"schedule", "coordinated", OtherSetting::no_dedicated_cores,
     "without dedicated cores there are no servers to coordinate; use immediate, or give <dedicated cores=\"1\"/>"},
    {"files", "", OtherSetting::no_dedicated_cores,
     "without dedicated cores there are no servers to write together; use per-server, or give <dedicated cores=\"1\"/>"},
    {"files", "", OtherSetting::schedule,
     "the servers of a file write it at the same time, which excludes {}; use schedule=\"immediate\""},
    {"files", "", OtherSetting::reduce_on_full,
     "the servers of a file must reduce alike, but on-full=\"reduce\" is decided by each server; remove it, or use per-server"},
    {"files", "", OtherSetting::zstd, "{}: HDF5 itself cannot compress with zstd; use deflate, or per-server"},
    {"files", "", OtherSetting::float16,
     "{}: the scale of float16 differs between servers; use absolute:ERROR or relative:ERROR, or per-server"},
};

// nullptr if there is none of that name.
constexpr const StorageAttribute* attribute_named(std::string_view name) {
  for (const StorageAttribute& attribute : kAttributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

constexpr std::int64_t preset_of(std::string_view name) { return attribute_named(name)->preset; }

// The key under which config passes the value to the plugin, including its unit.
inline std::string setting_key(const StorageAttribute& attribute) {
  const char* const unit = attribute.kind == ValueKind::bytes ? "-bytes" : attribute.kind == ValueKind::duration ? "-ms" : "";
  return std::string(attribute.name) + unit;
}

// The index of `value` among the choices of `attribute`, or -1.
constexpr int choice_of(const StorageAttribute& attribute, std::string_view value) {
  for (std::size_t i = 0; i < attribute.choices.size(); ++i)
    if (!value.empty() && attribute.choices[i] == value) return static_cast<int>(i);
  return -1;
}

struct Filter {
  enum Kind { shuffle, deflate } kind;
  unsigned level;  // of deflate, 0 to 9
};

struct FilterProblem {
  std::size_t at;       // byte offset in the text
  std::string why;      // with the remedy
  std::string unknown;  // the unknown filter's name; empty: another problem
};
using Wrong = std::function<void(const FilterProblem&)>;

// Parses "shuffle, deflate:LEVEL"; an empty text means no filters. Calls `wrong` for each invalid word, and skips it.
std::vector<Filter> parse_filters(const std::string& text, const Wrong& wrong);

// Why `value` is invalid as a basename, with the remedy; "" if it is valid.
std::string basename_problem(const std::string& value);

}  // namespace damaris::hdf5
