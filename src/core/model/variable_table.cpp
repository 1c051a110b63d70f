#include "core/model/variable_table.hpp"

#include <limits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/model/names.hpp"

namespace damaris::model {
namespace {

std::uint64_t mixed(std::uint64_t value) noexcept {
  value *= 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  return value ^ (value >> 32);
}

template <class Word>
std::uint64_t load(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Of a name, the same in every process of a build. Eight bytes at a time; the last ones may be taken twice.
std::uint32_t hash_of(std::string_view name) noexcept {
  const char* const first = name.data();
  const std::size_t length = name.size();
  std::uint64_t hash = length;
  if (length >= 8) {
    for (std::size_t at = 0; at + 8 < length; at += 8) hash = mixed(hash ^ load<std::uint64_t>(first + at));
    hash = mixed(hash ^ load<std::uint64_t>(first + length - 8));
  } else if (length >= 4) {
    hash = mixed(hash ^ load<std::uint32_t>(first) ^ load<std::uint32_t>(first + length - 4) << 32);
  } else {
    for (const char c : name) hash = hash << 8 | static_cast<unsigned char>(c);
  }
  return static_cast<std::uint32_t>(mixed(hash));
}

[[noreturn]] void refuse_table(const std::string& why) {
  throw Error(DC_E_CONFIG, "the compiled model cannot be used: its table of variables " + why);
}

// A power of two, at least half of them unused: a variable has two names at most.
std::uint64_t places_of(std::uint32_t variables) noexcept {
  std::uint64_t places = 8;
  while (places < 4 * std::uint64_t{variables}) places *= 2;
  return places;
}

std::uint32_t narrowed(std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max()) refuse_table("would be too large");
  return static_cast<std::uint32_t>(value);
}

}  // namespace

class TableWriter {
 public:
  explicit TableWriter(const Model& model)
      : names_(model), places_(places_of(narrowed(model.variables.size()))), header_{VariableTable::kMagic, 0, 0, 0, {}} {
    for (const Variable& variable : model.variables) add(variable);
  }
  std::string bytes() {
    header_.count = narrowed(entries_.size());
    header_.schedules = narrowed(schedules_.size());
    std::string bytes;
    append(bytes, &header_, 1);
    append(bytes, entries_.data(), entries_.size());
    append(bytes, places_.data(), places_.size());
    append(bytes, schedules_.data(), schedules_.size());
    return bytes + text_;
  }

 private:
  using Table = VariableTable;
  void add(const Variable& variable) {
    const std::uint32_t id = narrowed(entries_.size());
    const std::string& path = variable.path;
    const bool has_bare_name = variable.name != path && ends_with(path, variable.name) && finds(variable.name, id);
    Table::Entry entry = {};
    entry.layout = narrowed(variable.layout);
    entry.priority = variable.priority;
    entry.schedule = schedule_of(variable.schedule);
    entry.length = narrowed(path.size());
    entry.bare = has_bare_name ? narrowed(variable.name.size()) : 0;
    entry.on_full = static_cast<std::uint8_t>(variable.on_full);
    entry.enabled = variable.enabled ? 1 : 0;
    put_name(path, entry);
    entries_.push_back(entry);
    if (finds(path, id)) add_place(path, id);
    if (has_bare_name) add_place(variable.name, id);
    if (variable.on_full != OnFull::block) header_.may_omit = 1;
  }
  bool finds(const std::string& name, std::uint32_t id) const { return names_.find(name) == static_cast<int>(id); }
  std::uint32_t schedule_of(const StepSelection& schedule) {
    if (schedule.always()) return 0;
    schedules_.push_back({schedule.every, schedule.from, schedule.until});
    return narrowed(schedules_.size());
  }
  void put_name(const std::string& path, Table::Entry& entry) {
    const std::uint32_t offset = narrowed(text_.size());
    if (path.size() <= Table::kInline) {
      path.copy(entry.name, path.size());
    } else {
      std::memcpy(entry.name, &offset, sizeof offset);
      text_ += path;
    }
  }
  void add_place(const std::string& name, std::uint32_t id) {
    const std::uint32_t hash = hash_of(name);
    std::size_t at = hash & (places_.size() - 1);
    while (places_[at].next_id != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = {hash, id + 1};
  }
  template <class Item>
  static void append(std::string& bytes, const Item* items, std::size_t count) {
    bytes.append(reinterpret_cast<const char*>(items), count * sizeof(Item));
  }

  const VariableNames names_;
  std::vector<Table::Entry> entries_;
  std::vector<Table::Place> places_;
  std::vector<Table::Schedule> schedules_;
  std::string text_;
  Table::Header header_;
};

std::string variable_table_of(const Model& model) { return TableWriter(model).bytes(); }

VariableTable::VariableTable(std::string_view bytes, std::size_t layouts) : layouts_(layouts) {
  if (bytes.size() < sizeof(Header)) refuse_table("is missing");
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Schedule) != 0) refuse_table("is not aligned");
  const auto* header = reinterpret_cast<const Header*>(bytes.data());
  if (header->magic != kMagic) refuse_table("is not of this version of Damaris");
  count_ = header->count;
  schedule_count_ = header->schedules;
  may_omit_ = header->may_omit != 0;
  const std::uint64_t places = places_of(count_);
  const std::uint64_t before_text =
      sizeof(Header) + count_ * sizeof(Entry) + places * sizeof(Place) + schedule_count_ * sizeof(Schedule);
  if (before_text > bytes.size())
    refuse_table(format("of {} variables has {} bytes, less than {}", count_, bytes.size(), before_text));
  mask_ = places - 1;
  text_bytes_ = bytes.size() - before_text;
  entries_ = reinterpret_cast<const Entry*>(header + 1);
  places_ = reinterpret_cast<const Place*>(entries_ + count_);
  schedules_ = reinterpret_cast<const Schedule*>(places_ + places);
  text_ = reinterpret_cast<const char*>(schedules_ + schedule_count_);
  check_entries();
  check_places();
}

void VariableTable::check_entries() const {
  for (std::uint32_t id = 0; id < count_; ++id) {
    const std::uint32_t length = entries_[id].length;
    if (path(id).size() != length || entries_[id].bare > length) refuse_table(format("gives variable {} a name outside it", id));
    at(id);
  }
}

// At least one place is unused, where each search ends.
void VariableTable::check_places() const {
  std::uint64_t used = 0;
  for (std::uint64_t at = 0; at <= mask_; ++at) {
    const std::uint32_t next_id = places_[at].next_id;
    if (next_id > count_) refuse_table(format("has a name of variable {} of {}", next_id - 1, count_));
    used += next_id != 0 ? 1 : 0;
  }
  if (used > mask_) refuse_table("has no unused place");
}

std::string_view VariableTable::long_text_of(const Entry& entry, std::uint32_t length) const noexcept {
  std::uint32_t offset = 0;
  std::memcpy(&offset, entry.name, sizeof offset);
  if (offset > text_bytes_ || length > text_bytes_ - offset) return {};
  return {text_ + offset, length};
}

int VariableTable::find(std::string_view name) const noexcept {
  if (count_ == 0) return kNone;
  const std::uint32_t hash = hash_of(name);
  std::uint64_t at = hash & mask_;
  for (std::uint64_t left = mask_; left > 0; --left, at = (at + 1) & mask_) {
    const Place place = places_[at];
    if (place.next_id == 0) return kNone;
    if (place.hash == hash && is_named(place.next_id - 1, name)) return static_cast<int>(place.next_id - 1);
  }
  return kNone;
}

DeclaredVariable VariableTable::at(std::uint32_t id) const {
  const Entry& entry = entries_[id];
  const std::uint32_t layout = read_once(entry.layout), schedule = read_once(entry.schedule);
  const std::uint8_t on_full = read_once(entry.on_full);
  if (layout >= layouts_) refuse_table(format("gives variable {} the layout {} of {}", id, layout, layouts_));
  if (schedule > schedule_count_) refuse_table(format("gives variable {} the schedule {} of {}", id, schedule, schedule_count_));
  if (on_full > static_cast<std::uint8_t>(OnFull::drop))
    refuse_table(format("gives variable {} an unknown on-full, {}", id, on_full));
  DeclaredVariable declared;
  declared.layout = layout;
  declared.priority = entry.priority;
  declared.on_full = static_cast<OnFull>(on_full);
  declared.enabled = entry.enabled != 0;
  if (schedule == 0) return declared;
  const Schedule& due = schedules_[schedule - 1];
  declared.schedule = {read_once(due.every), due.from, due.until};
  if (declared.schedule.every < 1) refuse_table(format("has variable {} due every {} steps", id, declared.schedule.every));
  return declared;
}

}  // namespace damaris::model
