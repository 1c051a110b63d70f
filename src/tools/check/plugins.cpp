#include "tools/check/plugins.hpp"

#include <functional>
#include <set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "server/loaded_plugin.hpp"
#include "server/plugin_host.hpp"

namespace damaris::check {
namespace {

// Calls `each` with name, shared object and place of every plugin and action function.
void for_each(const model::Model& model, const std::function<void(const std::string&, const std::string&, model::Location)>& each) {
  for (const model::Plugin& plugin : model.plugins) each("plugin " + plugin.name, plugin.library, plugin.where);
  for (const model::Event& event : model.events)
    for (const model::Action& action : event.actions)
      if (action.plugin < 0) each(format("{}()", action.function), action.library, action.where);
}

}  // namespace

std::vector<std::string> missing_plugins(const model::Model& model) {
  std::vector<std::string> sentences;
  std::set<std::string> seen;
  for_each(model, [&](const std::string&, const std::string& library, model::Location where) {
    if (!seen.insert(library).second) return;
    try {
      server::find_plugin(library, model, where);
    } catch (const Error& error) {
      sentences.push_back(error.sentence());
    }
  });
  return sentences;
}

std::vector<Row> load_plugins(const std::shared_ptr<const model::Model>& model) {
  const server::PluginHost host(model);
  std::vector<Row> rows;
  for_each(*model, [&](const std::string& name, const std::string& library, model::Location where) {
    rows.push_back({name, server::find_plugin(library, *model, where)});
  });
  return rows;
}

}  // namespace damaris::check
