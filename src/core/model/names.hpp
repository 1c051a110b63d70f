// Looks up the names of a model.
// Used by: the configuration, and make_region for the table of the variables; each client, for what its frame has. Off the path of a
// write: the table that a client looks its variables up in is variable_table.hpp.
// Before it: a model, or its frame. After it: an index into one of its lists.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/model/model.hpp"

namespace damaris::model {

using NameIds = std::map<std::string, int, std::less<>>;

inline int id_in(const NameIds& ids, std::string_view name) {
  const auto found = ids.find(name);
  return found == ids.end() ? -1 : found->second;
}

// Each function returns -1 if the name is unknown; the first of several with a name is the one that is found.
class FrameNames {
 public:
  explicit FrameNames(const Frame& frame)
      : layouts_(ids_of(frame.layouts)), events_(ids_of(frame.events)), parameters_(ids_of(frame.parameters)) {}
  int layout(std::string_view name) const { return id_in(layouts_, name); }
  int event(std::string_view name) const { return id_in(events_, name); }
  int parameter(std::string_view name) const { return id_in(parameters_, name); }

 private:
  template <class Items>
  static NameIds ids_of(const Items& items) {
    NameIds ids;
    for (std::size_t i = 0; i < items.size(); ++i) ids.try_emplace(items[i].name, static_cast<int>(i));
    return ids;
  }
  const NameIds layouts_, events_, parameters_;
};

// Finds variables by full path and, where it is unique, by bare name. A full path takes precedence over an equal bare name.
class VariableNames {
 public:
  explicit VariableNames(const Model& model) {
    for (const Variable& v : model.variables)
      if (const auto [found, is_new] = ids_.try_emplace(v.name, static_cast<int>(v.id)); !is_new) found->second = -1;
    for (const Variable& v : model.variables) ids_[v.path] = static_cast<int>(v.id);
  }
  // Returns -1 if the name is unknown, or not unique.
  int find(std::string_view name) const { return id_in(ids_, name); }

 private:
  NameIds ids_;
};

}  // namespace damaris::model
