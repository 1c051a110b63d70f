// <storage> with its plugins and stream logs; <plugin> and <event> of <actions>.
#include <algorithm>

#include "config/advice.hpp"
#include "config/build.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "plugins/hdf5/attributes/attributes.hpp"

namespace damaris::config {
namespace {

// `using`, or its older name `library`; nullptr if neither is given. Reports a problem if both are.
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

constexpr std::uint64_t kSmallestBlock = 4096;

// The part of the buffer that one client has, or all of it as long as their number is not known.
std::uint64_t smallest_buffer(const model::Model& model) {
  const int clients = clients_per_server(model);
  return clients == 0 || model.architecture.pooled ? model.architecture.buffer_bytes : smallest_arena(model, clients);
}

std::uint64_t block_bytes(Build& build, const Element& element) {
  const Attribute& attribute = *element.find("block");
  const auto bytes = parse_size(attribute.value);
  if (!bytes || *bytes < kSmallestBlock) {
    build.problems.add(attribute.value_where, format("{}: it must be at least {}", quoted(attribute), size_text(kSmallestBlock)));
    return kSmallestBlock;
  }
  if (const std::uint64_t most = smallest_buffer(build.model); attribute.given && *bytes > most)
    build.problems.add(attribute.value_where,
                       format("{}: it is larger than the {} that one client has of the buffer; give <buffer size=\"...\"> more, or "
                              "smaller blocks",
                              quoted(attribute), size_text(most)));
  return *bytes;
}

void build_stream_logs(Build& build, const Element& storage) {
  DeclaredNames names;
  for (const Element& child : storage.children) {
    if (child.name != "stream-log") continue;
    model::StreamLog log;
    log.name = child.value("name");
    log.files = static_cast<int>(number(build, *child.find("files"), 1, model::kMostLogFiles));
    log.block_bytes = block_bytes(build, child);
    log.buffered = child.is_true("buffered");
    log.where = child.where;
    if (too_many(build, child, "stream logs", build.model.logs.size() + 1, model::kMostLogs)) return;
    if (names.add(build, "stream-log", log.name, child.where, 0)) build.model.logs.push_back(std::move(log));
  }
}

using hdf5::OtherSetting;

void check_name(Build& build, const Attribute& attribute) {
  if (const std::string why = hdf5::basename_problem(attribute.value); !why.empty())
    build.problems.add(attribute.value_where, format("{}: {}", quoted(attribute), why));
}

// ".s<server>", ".g<group>" or ".i<step>" at the end of a basename, as names of a step's files have them; "" if there is none.
std::string part_of_a_file_name(const std::string& basename) {
  const std::size_t number = basename.find_last_not_of("0123456789") + 1;
  if (number == basename.size() || number < 2 || basename[number - 2] != '.') return "";
  return std::string("sgi").find(basename[number - 1]) == std::string::npos ? "" : basename.substr(number - 2);
}

// Whatever `files` says in either run: with files="single" the files of a run 'storm.g0' have the names of those of a run 'storm' with
// files="per-group", and the master file of a run 'storm.g0.i1' has the name of a file of the latter.
void check_end_of_basename(Build& build, const Attribute& attribute, const char* meaning) {
  const std::string part = part_of_a_file_name(attribute.value);
  if (part.empty()) return;
  build.problems.add(
      attribute.value_where,
      format("{}{}: it ends in '{}', as names of a step's files do, so another run's files could have the names of this "
             "run's; remove '{}' or choose another name",
             quoted(attribute), meaning, part, part));
}

// Applies to variables without a reduction of their own. Those that are not reals are only compressed.
void apply_default_reduction(Build& build, const Attribute& attribute) {
  const dc_reduction_t reals = reduction(build, attribute);
  if (build.model.layouts.empty()) return;  // already reported, if there is a variable
  for (model::Variable& variable : build.model.variables) {
    if (!variable.reduce.empty()) continue;
    const dc_type type = build.model.layouts[variable.layout].type;
    const bool real = type == DC_FLOAT32 || type == DC_FLOAT64;
    variable.reduce = attribute.value;
    variable.reduction = reals;
    if (!real) variable.reduction.precision = DC_EXACT;
  }
}

// The settings elsewhere in the XML that `other` matches; each replaces {} in the message.
std::vector<std::string> conflicting_settings(const Build& build, const Element& element, OtherSetting other) {
  const auto variables_with = [&](auto&& is) {
    std::vector<std::string> found;
    for (const model::Variable& variable : build.model.variables)
      if (is(variable.reduction)) found.push_back(format("variable '{}' has reduce=\"{}\"", variable.name, variable.reduce));
    return found;
  };
  switch (other) {
    case OtherSetting::no_dedicated_cores:
      if (build.model.architecture.dedicated_cores == 0) return {""};
      return {};
    case OtherSetting::reduce_on_full:
      if (build.model.architecture.reduces_on_full) return {""};
      return {};
    case OtherSetting::schedule:
      if (const Attribute& schedule = *element.find("schedule"); schedule.value != "immediate") return {quoted(schedule)};
      return {};
    case OtherSetting::zstd:
      return variables_with([](const dc_reduction_t& reduction) { return reduction.codec == DC_CODEC_ZSTD; });
    case OtherSetting::float16:
      return variables_with([](const dc_reduction_t& reduction) {
        return reduction.precision == DC_FLOAT16 && reduction.codec != DC_CODEC_ZSTD;  // zstd is reported already
      });
  }
  return {};
}

void check_exclusions(Build& build, const Element& element) {
  for (const hdf5::Exclusion& exclusion : hdf5::kExclusions) {
    const Attribute& attribute = *element.find(std::string(exclusion.attribute));
    const hdf5::StorageAttribute& rule = *hdf5::attribute_named(exclusion.attribute);
    const bool chosen =
        exclusion.choice.empty() ? hdf5::choice_of(rule, attribute.value) != rule.preset : attribute.value == exclusion.choice;
    if (!chosen) continue;
    for (const std::string& what : conflicting_settings(build, element, exclusion.other)) {
      std::string why(exclusion.why);
      if (const std::size_t at = why.find("{}"); at != std::string::npos) why.replace(at, 2, what);
      build.problems.add(attribute.value_where, format("{}: {}", quoted(attribute), why));
    }
  }
}

std::int64_t bytes(Build& build, const Attribute& attribute, std::int64_t lowest) {
  const auto value = parse_size(attribute.value);
  if (value && *value >= static_cast<std::uint64_t>(lowest)) return static_cast<std::int64_t>(*value);
  build.problems.add(attribute.value_where, format("{}: it must be at least {} and below 8 EiB", quoted(attribute),
                                                   size_text(static_cast<std::uint64_t>(lowest))));
  return lowest;
}

void add_problem(Build& build, const Attribute& attribute, const hdf5::FilterProblem& problem) {
  const std::string nearest = problem.unknown.empty() ? "" : nearest_name(problem.unknown, {"shuffle", "deflate"});
  const std::string hint = nearest.empty() ? "" : format("; did you mean '{}'?", nearest);
  build.problems.add(inside(attribute, problem.at), format("{}: {}{}", quoted(attribute), problem.why, hint));
}

// The value of an attribute as handed to the plugin: checked, and converted to its unit.
std::string checked_value(Build& build, const Attribute& attribute, const hdf5::StorageAttribute& rule) {
  switch (rule.kind) {
    case hdf5::ValueKind::basename:
      check_name(build, attribute);
      break;
    case hdf5::ValueKind::count:
      number(build, attribute, rule.lowest, rule.highest);
      break;
    case hdf5::ValueKind::bytes:
      return std::to_string(bytes(build, attribute, rule.lowest));
    case hdf5::ValueKind::duration:
      return std::to_string(duration(build, attribute, rule.lowest));
    case hdf5::ValueKind::filters:
      hdf5::parse_filters(attribute.value, [&](const hdf5::FilterProblem& problem) { add_problem(build, attribute, problem); });
      break;
    case hdf5::ValueKind::reduction:
      apply_default_reduction(build, attribute);
      break;
    case hdf5::ValueKind::text:
    case hdf5::ValueKind::choice:  // the schema knows the choices
      break;
  }
  return attribute.value;
}

// The header of an HDF5 dataset has the type of its elements in a message of at most 64 KiB.
constexpr std::uint64_t kMostMessageBytes = 65'535, kMessageBytes = 8;  // the latter without members

// The number of bytes that HDF5 needs for an offset in an element of this size.
std::uint64_t offset_bytes(std::uint64_t element_bytes) { return element_bytes < 256 ? 1 : 1 + offset_bytes(element_bytes >> 8); }

// What a member adds, as encoded since HDF5 1.8.
std::uint64_t member_message_bytes(std::string_view name, dc_type type, bool is_array, std::uint64_t element_bytes) {
  const bool real = type == DC_FLOAT32 || type == DC_FLOAT64;
  const std::uint64_t one = type == DC_CHAR ? 8 : real ? 20 : 12, array = is_array ? 13 : 0;
  return name.size() + 1 + offset_bytes(element_bytes) + array + one;
}

std::uint64_t message_bytes(const model::Compound& compound) {
  std::uint64_t bytes = kMessageBytes;
  for (const model::Field& field : compound.fields)
    bytes += member_message_bytes(field.name, field.type, field.count > 1, compound.size_bytes);
  return bytes;
}

bool is_stored(const model::Model& model, std::size_t compound) {
  return std::any_of(model.variables.begin(), model.variables.end(), [&](const model::Variable& variable) {
    return variable.store && model.layouts[variable.layout].compound == static_cast<int>(compound);
  });
}

void check_types(Build& build) {
  const model::Model& model = build.model;
  if (model.layouts.empty()) return;  // already reported, if there is a variable
  for (std::size_t i = 0; i < model.compounds.size(); ++i) {
    const std::uint64_t bytes = message_bytes(model.compounds[i]);
    if (bytes <= kMostMessageBytes || !is_stored(model, i)) continue;
    for (const Element* type : build.all("type"))
      if (type->value("name") == model.compounds[i].name)
        build.problems.add(type->where,
                           format("type '{}' needs {} bytes in the header of a dataset, where HDF5 has room for {}; give it fewer "
                                  "fields or shorter names, make fields of one type an array with count, or set store=\"false\"",
                                  type->value("name"), bytes, kMostMessageBytes));
  }
}

model::Plugin hdf5_plugin(Build& build, const Element& element) {
  model::Plugin plugin;
  plugin.name = "hdf5";
  plugin.library = "damaris_hdf5.so";
  plugin.storage = true;
  plugin.where = element.where;
  for (const hdf5::StorageAttribute& rule : hdf5::kAttributes) {
    const Attribute* attribute = element.find(std::string(rule.name));
    if (attribute == nullptr) continue;
    const std::string value = checked_value(build, *attribute, rule);
    if (rule.kind != hdf5::ValueKind::reduction) plugin.settings.emplace_back(hdf5::setting_key(rule), value);
  }
  if (const Attribute* basename = element.find("basename"); basename != nullptr) {
    check_end_of_basename(build, *basename, "");
  } else {
    check_end_of_basename(build, *build.root.find("name"), " is the basename of <hdf5>, too");
    plugin.settings.emplace_back("basename", build.model.simulation);
  }
  check_exclusions(build, element);
  check_types(build);
  return plugin;
}

}  // namespace

void build_actions(Build& build) {
  add_plugins(build);
  const std::vector<const Element*> elements = build.all("event");
  if (!elements.empty() && too_many(build, *elements.front(), "events", elements.size(), kMostEvents)) return;
  std::map<std::string, std::size_t> events;
  for (const Element* element : elements) add_event(build, *element, events);
}

void build_storage(Build& build) {
  const Element* storage = build.only("storage");
  if (storage == nullptr) return;
  build_stream_logs(build, *storage);
  DeclaredNames names;
  for (const Element& child : storage->children) {
    if (child.name == "stream-log") continue;
    model::Plugin plugin = child.name == "hdf5" ? hdf5_plugin(build, child) : table_plugin(build, child);
    plugin.storage = true;
    if (names.add(build, "storage", plugin.name, child.where, 0)) build.model.plugins.push_back(std::move(plugin));
  }
}

}  // namespace damaris::config
