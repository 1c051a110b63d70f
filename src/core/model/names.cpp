#include "core/model/model.hpp"

namespace damaris::model {
namespace {

constexpr int kAmbiguous = -2;

int find(const std::map<std::string, int>& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() || found->second == kAmbiguous ? -1 : found->second;
}

}  // namespace

Names::Names(const Model& model) {
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const auto [place, fresh] = variables_.emplace(model.variables[i].name, static_cast<int>(i));
    if (!fresh) place->second = kAmbiguous;
  }
  // A full path takes precedence over an equal bare name.
  for (std::size_t i = 0; i < model.variables.size(); ++i) variables_[model.variables[i].path] = static_cast<int>(i);
  for (std::size_t i = 0; i < model.layouts.size(); ++i) layouts_.emplace(model.layouts[i].name, static_cast<int>(i));
  for (std::size_t i = 0; i < model.events.size(); ++i) events_.emplace(model.events[i].name, static_cast<int>(i));
  for (std::size_t i = 0; i < model.parameters.size(); ++i) parameters_.emplace(model.parameters[i].name, static_cast<int>(i));
}

int Names::variable(const std::string& name) const { return find(variables_, name); }
int Names::layout(const std::string& name) const { return find(layouts_, name); }
int Names::event(const std::string& name) const { return find(events_, name); }
int Names::parameter(const std::string& name) const { return find(parameters_, name); }

}  // namespace damaris::model
