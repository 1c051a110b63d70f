#include "core/model/names.hpp"

#include <cstring>

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

constexpr int kAmbiguous = -2;

// The first of several items with a name is the one that is found.
template <class Items>
void set_all(NameTable& table, const Items& items) {
  for (std::size_t i = items.size(); i > 0; --i) table.set(items[i - 1].name, static_cast<int>(i - 1));
}

}  // namespace

// Eight bytes at a time; the last ones may be taken twice.
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

std::uint64_t places_for(std::uint64_t names) noexcept {
  std::uint64_t places = 8;
  while (places < 2 * names) places *= 2;
  return places;
}

NameTable::NameTable(std::size_t names) : entries_(places_for(names)) {}

// The entry with that name, or the unused one where it would be.
std::size_t NameTable::place_of(std::string_view name, std::uint32_t hash) const noexcept {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
    const Entry& entry = entries_[place];
    if (!entry.used) return place;
    if (entry.hash == hash && entry.length == name.size() &&
        std::memcmp(names_.data() + entry.offset, name.data(), name.size()) == 0)
      return place;
  }
}

int NameTable::find(std::string_view name) const noexcept { return entries_[place_of(name, hash_of(name))].value; }

void NameTable::set(std::string_view name, int value) {
  const std::uint32_t hash = hash_of(name);
  Entry& entry = entries_[place_of(name, hash)];
  if (!entry.used) {
    entry = {hash, static_cast<std::uint32_t>(names_.size()), static_cast<std::uint32_t>(name.size()), value, true};
    names_ += name;
  }
  entry.value = value;
}

FrameNames::FrameNames(const Frame& frame)
    : layouts_(frame.layouts.size()), events_(frame.events.size()), parameters_(frame.parameters.size()) {
  set_all(layouts_, frame.layouts);
  set_all(events_, frame.events);
  set_all(parameters_, frame.parameters);
}

VariableNames::VariableNames(const Model& model) : table_(2 * model.variables.size()) {
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const bool fresh = table_.find(model.variables[i].name) == NameTable::kNone;
    table_.set(model.variables[i].name, fresh ? static_cast<int>(i) : kAmbiguous);
  }
  for (std::size_t i = 0; i < model.variables.size(); ++i) table_.set(model.variables[i].path, static_cast<int>(i));
}

int VariableNames::find(std::string_view name) const {
  const int found = table_.find(name);
  return found < 0 ? NameTable::kNone : found;
}

}  // namespace damaris::model
