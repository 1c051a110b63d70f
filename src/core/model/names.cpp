#include "core/model/names.hpp"

namespace damaris::model {
namespace {

constexpr int kAmbiguous = -2;

// The first of several items with a name is the one that is found.
template <class Items>
void set_all(NameTable& table, const Items& items) {
  for (std::size_t i = items.size(); i > 0; --i) table.set(items[i - 1].name, static_cast<int>(i - 1));
}

}  // namespace

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
