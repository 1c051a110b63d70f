#include "config/build.hpp"
#include "config/declared_names.hpp"
#include "config/plugin_element.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMostEvents = 10'000;

dc_scope scope_of(const std::string& name) {
  if (name == "core") return DC_SCOPE_CORE;
  if (name == "global") return DC_SCOPE_GLOBAL;
  return DC_SCOPE_NODE;  // node, and local: the paper leaves it undefined, and its example runs on one node
}

int plugin_index(Build& build, const Attribute& attribute) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < build.model.plugins.size(); ++i) {
    if (build.model.plugins[i].name == attribute.value) return static_cast<int>(i);
    names.push_back(build.model.plugins[i].name);
  }
  const std::string hint = names.empty() ? "; add a <plugin> element of that name" : name_hint(attribute.value, names);
  build.problems.add(attribute.value_where, format("{}: no such plugin is declared{}", quoted(attribute), hint));
  return -1;
}

// Whether the element defines an action. Reports a problem for an incomplete definition.
bool has_action(Build& build, const Element& element, const Attribute* library) {
  const Attribute* function = element.find("action");
  const Attribute* plugin = element.find("plugin");
  const auto report = [&](const Attribute& attribute, const std::string& why) {
    build.problems.add(attribute.where, format("event '{}': {}", element.value("name"), why));
  };
  if (plugin != nullptr && (function != nullptr || library != nullptr))
    report(*plugin, "give either plugin=\"...\" or action=\"...\" using=\"...\", not both");
  else if (function != nullptr && library == nullptr)
    report(*function, "action=\"...\" needs using=\"...\", the shared object that exports it");
  else if (library != nullptr && function == nullptr)
    report(*library, format("{}=\"...\" needs action=\"...\", the function to call", library->name));
  return plugin != nullptr || function != nullptr;
}

void add_action(Build& build, const Element& element, model::Event& event) {
  const Attribute* library = library_attribute(build, element);
  if (!has_action(build, element, library)) return;
  model::Action action;
  action.function = element.value_or_empty("action");
  action.library = library == nullptr ? "" : library->value;
  if (const Attribute* plugin = element.find("plugin")) action.plugin = plugin_index(build, *plugin);
  action.scope = scope_of(element.value("scope"));
  action.on_root = element.value("on") == "root";
  action.where = element.where;
  event.actions.push_back(std::move(action));
}

void add_event(Build& build, const Element& element, std::map<std::string, std::size_t>& events) {
  const std::string& name = element.value("name");
  const auto [place, fresh] = events.emplace(name, build.model.events.size());
  if (fresh) {
    model::Event event;
    event.id = static_cast<std::uint32_t>(place->second);
    event.name = name;
    event.where = element.where;
    build.model.events.push_back(std::move(event));
  }
  add_action(build, element, build.model.events[place->second]);
}

void add_plugins(Build& build) {
  DeclaredNames names;
  for (const model::Plugin& storage : build.model.plugins) names.add(build, "plugin", storage.name, storage.where, 0);
  for (const Element* element : build.all("plugin"))
    if (names.add(build, "plugin", element->value("name"), element->where, 0))
      build.model.plugins.push_back(table_plugin(build, *element));
}

}  // namespace

const Attribute* library_attribute(Build& build, const Element& element) {
  const Attribute* library = element.find("using");
  const Attribute* older = element.find("library");
  if (library != nullptr && older != nullptr)
    build.problems.add(older->where, "'library' is the older name of 'using'; give one of them");
  return library != nullptr ? library : older;
}

model::Plugin table_plugin(Build& build, const Element& element) {
  model::Plugin plugin;
  plugin.name = element.value("name");
  plugin.where = element.where;
  const Attribute* library = library_attribute(build, element);
  if (library == nullptr)
    build.problems.add(element.where, format("plugin '{}' lacks using=\"...\", its shared object", plugin.name));
  else
    plugin.library = library->value;
  DeclaredNames keys;
  for (const Element& child : element.children) {
    const std::string& key = child.value("key");
    if (keys.add(build, "setting", key, child.where, 0)) plugin.settings.emplace_back(key, child.value("value"));
  }
  return plugin;
}

void build_actions(Build& build) {
  add_plugins(build);
  const std::vector<const Element*> elements = build.all("event");
  if (!elements.empty() && too_many(build, *elements.front(), "events", elements.size(), kMostEvents)) return;
  std::map<std::string, std::size_t> events;
  for (const Element* element : elements) add_event(build, *element, events);
}

}  // namespace damaris::config
