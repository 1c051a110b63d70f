#include "config/declared_names.hpp"

#include "core/base/format.hpp"

namespace damaris::config {

bool DeclaredNames::add(Build& build, const std::string& kind, const std::string& name, Location where, int index) {
  const auto [entry, fresh] = entries_.emplace(name, Entry{where, index});
  if (!fresh)
    build.problems.add(where, format("{} '{}' is declared twice, first at line {}", kind, name, entry->second.where.line));
  return fresh;
}

int DeclaredNames::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? -1 : found->second.index;
}

std::vector<std::string> DeclaredNames::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace damaris::config
