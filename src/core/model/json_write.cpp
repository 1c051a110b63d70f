#include "core/base/json_bytes.hpp"

#include "core/model/json.hpp"

namespace damaris::model {
namespace {

Json json(Location where) { return Json::array({where.line, where.column}); }

Json json(const std::vector<Expression>& list) {
  Json result = Json::array();
  for (const Expression& expression : list) result.push_back(expression.text());
  return result;
}

Json json(const Parameter& p) {
  return {{"name", p.name},   {"type", p.type},         {"expression", p.expression.text()},
          {"value", p.value}, {"constant", p.constant}, {"where", json(p.where)}};
}

Json json(const Compound& c) {
  Json fields = Json::array();
  for (const Field& f : c.fields)
    fields.push_back({{"name", f.name}, {"type", f.type}, {"count", f.count}, {"offset_bytes", f.offset_bytes}});
  return {{"name", c.name}, {"fields", fields}, {"size_bytes", c.size_bytes}};
}

Json json(const Layout& l) {
  Json ghost = Json::array();
  for (const GhostWidth& width : l.ghost) ghost.push_back(Json::array({width.low.text(), width.high.text()}));
  return {{"name", l.name},
          {"type", l.type},
          {"compound", l.compound},
          {"element_bytes", l.element_bytes},
          {"fortran_order", l.fortran_order},
          {"dimensions", json(l.dimensions)},
          {"global", json(l.global)},
          {"ghost", ghost},
          {"where", json(l.where)}};
}

Json json(const dc_reduction_t& r) {
  return {{"precision", r.precision}, {"bound", r.bound}, {"has_packing", r.has_packing},           {"scale", r.scale},
          {"offset", r.offset},       {"codec", r.codec}, {"keep_on_overflow", r.keep_on_overflow}, {"level", r.level}};
}

Json json(const Variable& v) {
  return {{"id", v.id},
          {"name", v.name},
          {"path", v.path},
          {"layout", v.layout},
          {"unit", v.unit},
          {"description", v.description},
          {"mesh", v.mesh},
          {"coordinates", v.coordinates},
          {"enabled", v.enabled},
          {"schedule", Json::array({v.schedule.every, v.schedule.from, v.schedule.until})},
          {"store", v.store},
          {"priority", v.priority},
          {"chunk", v.chunk},
          {"reduce", v.reduce},
          {"reduction", json(v.reduction)},
          {"reduce_on_full", v.reduce_on_full},
          {"reduction_on_full", json(v.reduction_on_full)},
          {"on_full", v.on_full},
          {"where", json(v.where)}};
}

Json json(const Action& a) {
  return {{"function", a.function}, {"library", a.library}, {"plugin", a.plugin},
          {"scope", a.scope},       {"on_root", a.on_root}, {"where", json(a.where)}};
}

Json json(const Event& e) {
  Json actions = Json::array();
  for (const Action& action : e.actions) actions.push_back(json(action));
  return {{"id", e.id}, {"name", e.name}, {"actions", actions}, {"where", json(e.where)}};
}

Json json(const StreamLog& l) {
  return {{"name", l.name}, {"files", l.files}, {"block_bytes", l.block_bytes}, {"buffered", l.buffered}, {"where", json(l.where)}};
}

Json json(const Plugin& p) {
  Json settings = Json::array();
  for (const auto& [key, value] : p.settings) settings.push_back(Json::array({key, value}));
  return {{"name", p.name}, {"library", p.library}, {"storage", p.storage}, {"settings", settings}, {"where", json(p.where)}};
}

Json json(const Architecture& a) {
  return {{"dedicated_cores", a.dedicated_cores},
          {"clients", a.clients},
          {"threads", a.threads},
          {"start_server", a.start_server},
          {"pin", a.pin},
          {"buffer_bytes", a.buffer_bytes},
          {"weights", a.weights},
          {"pooled", a.pooled},
          {"checksums", a.checksums},
          {"buffer_timeout_ms", a.buffer_timeout_ms},
          {"on_full", a.on_full},
          {"reduces_on_full", a.reduces_on_full},
          {"spill", a.spill},
          {"spill_bytes", a.spill_bytes},
          {"lane_messages", a.lane_messages},
          {"attach_timeout_ms", a.attach_timeout_ms},
          {"finalize_timeout_ms", a.finalize_timeout_ms},
          {"read_timeout_ms", a.read_timeout_ms},
          {"global_timeout_ms", a.global_timeout_ms},
          {"stale", a.stale},
          {"plugin_policy", a.plugin_policy}};
}

template <class T>
Json json_list(const std::vector<T>& items) {
  Json result = Json::array();
  for (const T& item : items) result.push_back(json(item));
  return result;
}

Json frame_json(const Frame& frame) {
  return {{"damaris_model", kJsonVersion},
          {"simulation", frame.simulation},
          {"file", frame.file},
          {"folder", frame.folder},
          {"architecture", json(frame.architecture)},
          {"parameters", json_list(frame.parameters)},
          {"compounds", json_list(frame.compounds)},
          {"layouts", json_list(frame.layouts)},
          {"events", json_list(frame.events)},
          {"logs", json_list(frame.logs)},
          {"log", {{"level", frame.log.level}, {"file", frame.log.file}, {"summary", frame.log.summary}}},
          {"server_log", {{"place", frame.server_log.place}, {"bytes_before", frame.server_log.bytes_before}}}};
}

Json rest_json(const Model& model) {
  return {{"damaris_model", kJsonVersion}, {"variables", json_list(model.variables)}, {"plugins", json_list(model.plugins)}};
}

}  // namespace

std::string to_json(const Model& model) {
  Json whole = frame_json(model);
  whole.update(rest_json(model));
  return text_with_bytes_of(whole);
}

JsonParts to_json_parts(const Model& model) {
  return {text_with_bytes_of(frame_json(model)), text_with_bytes_of(rest_json(model))};
}

}  // namespace damaris::model
