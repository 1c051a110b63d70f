#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/model/json.hpp"
#include "core/model/json_version.hpp"

namespace damaris::model {
namespace {

// The text may come from a damaged region: every number that is used as an index or an enumerator is checked.
[[noreturn]] void refuse(const std::string& why) { throw Error(DC_E_CONFIG, "the compiled model cannot be used: " + why); }

template <class E>
E enumerator(const Json& value, int last) {
  const int number = value.get<int>();
  if (number < 0 || number > last) refuse(format("{} is no known enumerator", number));
  return static_cast<E>(number);
}

void check_index(std::int64_t index, std::size_t size, const char* what) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) refuse(format("{} {} does not exist", what, index));
}

Location location(const Json& j) { return {j.at(0).get<int>(), j.at(1).get<int>()}; }

std::vector<Expression> expressions(const Json& j) {
  std::vector<Expression> list;
  for (const Json& text : j) list.push_back(Expression::parse(text.get_ref<const std::string&>()));
  return list;
}

Parameter parameter(const Json& j) {
  Parameter p;
  p.name = j.at("name");
  p.type = enumerator<dc_type>(j.at("type"), DC_COMPOUND);
  p.expression = Expression::parse(j.at("expression").get_ref<const std::string&>());
  p.value = j.at("value");
  p.constant = j.at("constant");
  p.where = location(j.at("where"));
  return p;
}

Compound compound(const Json& j) {
  Compound c;
  c.name = j.at("name");
  c.size_bytes = j.at("size_bytes");
  for (const Json& f : j.at("fields")) {
    Field field;
    field.name = f.at("name");
    field.type = enumerator<dc_type>(f.at("type"), DC_CHAR);
    field.count = f.at("count");
    field.offset_bytes = f.at("offset_bytes");
    c.fields.push_back(field);
  }
  return c;
}

Layout layout(const Json& j) {
  Layout l;
  l.name = j.at("name");
  l.type = enumerator<dc_type>(j.at("type"), DC_COMPOUND);
  l.compound = j.at("compound");
  l.element_bytes = j.at("element_bytes");
  l.fortran_order = j.at("fortran_order");
  l.dimensions = expressions(j.at("dimensions"));
  l.global = expressions(j.at("global"));
  for (const Json& width : j.at("ghost")) {
    const auto both = expressions(width);
    if (both.size() != 2) refuse(format("layout '{}' has a ghost width that is no pair", l.name));
    l.ghost.push_back({both[0], both[1]});
  }
  l.where = location(j.at("where"));
  return l;
}

dc_reduction_t reduction(const Json& j) {
  dc_reduction_t r = {};
  r.precision = enumerator<dc_precision>(j.at("precision"), DC_FLOAT16);
  r.bound = j.at("bound");
  r.has_packing = j.at("has_packing");
  r.scale = j.at("scale");
  r.offset = j.at("offset");
  r.keep_on_overflow = j.at("keep_on_overflow");
  r.codec = enumerator<dc_codec>(j.at("codec"), DC_CODEC_ZSTD);
  r.level = j.at("level");
  return r;
}

Variable variable(const Json& j) {
  Variable v;
  v.id = j.at("id");
  v.name = j.at("name");
  v.path = j.at("path");
  v.layout = j.at("layout");
  v.unit = j.at("unit");
  v.description = j.at("description");
  v.mesh = j.at("mesh");
  v.coordinates = j.at("coordinates").get<std::vector<std::uint32_t>>();
  v.enabled = j.at("enabled");
  const Json& schedule = j.at("schedule");
  v.schedule = {schedule.at(0).get<std::int64_t>(), schedule.at(1).get<std::int64_t>(), schedule.at(2).get<std::int64_t>()};
  if (v.schedule.every < 1) refuse(format("variable '{}' is due every {} steps", v.path, v.schedule.every));
  v.store = j.at("store");
  v.priority = j.at("priority");
  v.chunk = j.at("chunk").get<std::vector<std::int64_t>>();
  if (v.chunk.size() > DC_MAX_DIMS) refuse(format("variable '{}' has chunks of {} dimensions", v.path, v.chunk.size()));
  v.reduce = j.at("reduce");
  v.reduction = reduction(j.at("reduction"));
  v.reduce_on_full = j.at("reduce_on_full");
  v.reduction_on_full = reduction(j.at("reduction_on_full"));
  v.on_full = enumerator<OnFull>(j.at("on_full"), static_cast<int>(OnFull::drop));
  v.where = location(j.at("where"));
  return v;
}

Action action(const Json& j) {
  Action a;
  a.function = j.at("function");
  a.library = j.at("library");
  a.plugin = j.at("plugin");
  a.scope = enumerator<dc_scope>(j.at("scope"), DC_SCOPE_GLOBAL);
  a.on_root = j.at("on_root");
  a.where = location(j.at("where"));
  return a;
}

Event event(const Json& j) {
  Event e;
  e.id = j.at("id");
  e.name = j.at("name");
  for (const Json& item : j.at("actions")) e.actions.push_back(action(item));
  e.where = location(j.at("where"));
  return e;
}

Plugin plugin(const Json& j) {
  Plugin p;
  p.name = j.at("name");
  p.library = j.at("library");
  p.storage = j.at("storage");
  for (const Json& pair : j.at("settings")) p.settings.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  p.where = location(j.at("where"));
  return p;
}

Architecture architecture(const Json& j) {
  Architecture a;
  a.dedicated_cores = j.at("dedicated_cores");
  a.clients = j.at("clients");
  a.threads = j.at("threads");
  a.start_server = j.at("start_server");
  a.pin = j.at("pin");
  a.buffer_bytes = j.at("buffer_bytes");
  a.weights = j.at("weights").get<std::vector<std::int64_t>>();
  a.checksums = j.at("checksums");
  a.buffer_timeout_ms = j.at("buffer_timeout_ms");
  a.on_full = enumerator<OnFull>(j.at("on_full"), static_cast<int>(OnFull::drop));
  a.reduces_on_full = j.at("reduces_on_full");
  a.spill = j.at("spill");
  a.spill_bytes = j.at("spill_bytes");
  a.lane_events = j.at("lane_events");
  a.attach_timeout_ms = j.at("attach_timeout_ms");
  a.finalize_timeout_ms = j.at("finalize_timeout_ms");
  a.global_timeout_ms = j.at("global_timeout_ms");
  a.stale = enumerator<StalePolicy>(j.at("stale"), static_cast<int>(StalePolicy::discard));
  a.plugin_policy = enumerator<PluginPolicy>(j.at("plugin_policy"), static_cast<int>(PluginPolicy::fail_iteration));
  return a;
}

void check_layout(const Layout& l, std::size_t compounds) {
  const std::size_t dims = l.dimensions.size();
  if (dims < 1 || dims > DC_MAX_DIMS) refuse(format("layout '{}' has {} dimensions", l.name, dims));
  if (!l.global.empty() && l.global.size() != dims) refuse(format("layout '{}' has {} global extents", l.name, l.global.size()));
  if (!l.ghost.empty() && l.ghost.size() != dims) refuse(format("layout '{}' has {} ghost widths", l.name, l.ghost.size()));
  if (l.type == DC_COMPOUND) check_index(l.compound, compounds, "compound");
}

void check(const Model& model) {
  for (const Layout& l : model.layouts) check_layout(l, model.compounds.size());
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].id != i) refuse("a variable's id is not its place");
    check_index(static_cast<std::int64_t>(model.variables[i].layout), model.layouts.size(), "layout");
    for (const std::uint32_t id : model.variables[i].coordinates) check_index(id, model.variables.size(), "variable");
  }
  for (std::size_t i = 0; i < model.events.size(); ++i) {
    if (model.events[i].id != i) refuse("an event's id is not its place");
    for (const Action& a : model.events[i].actions)
      if (a.plugin != -1) check_index(a.plugin, model.plugins.size(), "plugin");
  }
}

Model read(const Json& j) {
  if (!j.is_object() || j.value("damaris_model", 0) != kJsonVersion) refuse("it is not of this version of Damaris");
  Model model;
  model.simulation = j.at("simulation");
  model.file = j.at("file");
  model.folder = j.at("folder");
  model.architecture = architecture(j.at("architecture"));
  for (const Json& item : j.at("parameters")) model.parameters.push_back(parameter(item));
  for (const Json& item : j.at("compounds")) model.compounds.push_back(compound(item));
  for (const Json& item : j.at("layouts")) model.layouts.push_back(layout(item));
  for (const Json& item : j.at("variables")) model.variables.push_back(variable(item));
  for (const Json& item : j.at("events")) model.events.push_back(event(item));
  for (const Json& item : j.at("plugins")) model.plugins.push_back(plugin(item));
  model.log.level = j.at("log").at("level");
  model.log.file = j.at("log").at("file");
  check(model);
  return model;
}

}  // namespace

Model from_json(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& wrong) {
    refuse(wrong.what());
  } catch (const ExpressionError& wrong) {
    refuse(wrong.what());
  }
}

}  // namespace damaris::model
