#include "core/model/model.hpp"

namespace damaris::model {
namespace {

constexpr int kAmbiguous = -2;

int index_of(int found) { return found < 0 ? NameTable::kNone : found; }

// The first of several items with a name is the one that is found.
template <class Items>
void set_all(NameTable& table, const Items& items) {
  for (std::size_t i = items.size(); i > 0; --i) table.set(items[i - 1].name, static_cast<int>(i - 1));
}

}  // namespace

Names::Names(const Model& model)
    : variables_(2 * model.variables.size()),
      layouts_(model.layouts.size()),
      events_(model.events.size()),
      parameters_(model.parameters.size()) {
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const bool fresh = variables_.find(model.variables[i].name) == NameTable::kNone;
    variables_.set(model.variables[i].name, fresh ? static_cast<int>(i) : kAmbiguous);
  }
  // A full path takes precedence over an equal bare name.
  for (std::size_t i = 0; i < model.variables.size(); ++i) variables_.set(model.variables[i].path, static_cast<int>(i));
  set_all(layouts_, model.layouts);
  set_all(events_, model.events);
  set_all(parameters_, model.parameters);
}

int Names::variable(std::string_view name) const { return index_of(variables_.find(name)); }
int Names::layout(std::string_view name) const { return layouts_.find(name); }
int Names::event(std::string_view name) const { return events_.find(name); }
int Names::parameter(std::string_view name) const { return parameters_.find(name); }

}  // namespace damaris::model
