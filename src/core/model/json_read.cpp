#include <initializer_list>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json_bytes.hpp"
#include "core/model/json.hpp"

namespace damaris::model {
namespace {

// The text may come from a damaged region: every number that is used as an index or an enumerator is checked.
[[noreturn]] void refuse(const std::string& why) { throw Error(DC_E_CONFIG, "the compiled model cannot be used: " + why); }

template <class T>
T value_of(const Json& json) {
  T value = {};
  read_value(json, value);
  return value;
}

template <class E>
E enumerator(const Json& value, int last) {
  const int number = value_of<int>(value);
  if (number < 0 || number > last) refuse(format("{} is not a known enumerator", number));
  return static_cast<E>(number);
}

void check_index(std::int64_t index, std::size_t size, const char* what) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) refuse(format("{} {} does not exist", what, index));
}

Location location(const Json& j) { return {value_of<int>(j.at(0)), value_of<int>(j.at(1))}; }

std::vector<Expression> expressions(const Json& j) {
  std::vector<Expression> list;
  for (const Json& text : j) list.push_back(Expression::parse(text.get_ref<const std::string&>()));
  return list;
}

Parameter parameter(const Json& j) {
  Parameter p;
  read_value(j.at("name"), p.name);
  p.type = enumerator<dc_type>(j.at("type"), DC_COMPOUND);
  p.expression = Expression::parse(j.at("expression").get_ref<const std::string&>());
  read_value(j.at("value"), p.value);
  read_value(j.at("constant"), p.constant);
  p.where = location(j.at("where"));
  return p;
}

Compound compound(const Json& j) {
  Compound c;
  read_value(j.at("name"), c.name);
  read_value(j.at("size_bytes"), c.size_bytes);
  for (const Json& f : j.at("fields")) {
    Field field;
    read_value(f.at("name"), field.name);
    field.type = enumerator<dc_type>(f.at("type"), DC_CHAR);
    read_value(f.at("count"), field.count);
    read_value(f.at("offset_bytes"), field.offset_bytes);
    c.fields.push_back(field);
  }
  return c;
}

Layout layout(const Json& j) {
  Layout l;
  read_value(j.at("name"), l.name);
  l.type = enumerator<dc_type>(j.at("type"), DC_COMPOUND);
  read_value(j.at("compound"), l.compound);
  read_value(j.at("element_bytes"), l.element_bytes);
  read_value(j.at("fortran_order"), l.fortran_order);
  l.dimensions = expressions(j.at("dimensions"));
  l.global = expressions(j.at("global"));
  for (const Json& width : j.at("ghost")) {
    const auto both = expressions(width);
    if (both.size() != 2) refuse(format("layout '{}' has a ghost width that is not a pair", l.name));
    l.ghost.push_back({both[0], both[1]});
  }
  l.where = location(j.at("where"));
  return l;
}

dc_reduction_t reduction(const Json& j) {
  dc_reduction_t r = {};
  r.precision = enumerator<dc_precision>(j.at("precision"), DC_FLOAT16);
  read_value(j.at("bound"), r.bound);
  read_value(j.at("has_packing"), r.has_packing);
  read_value(j.at("scale"), r.scale);
  read_value(j.at("offset"), r.offset);
  read_value(j.at("keep_on_overflow"), r.keep_on_overflow);
  r.codec = enumerator<dc_codec>(j.at("codec"), DC_CODEC_ZSTD);
  read_value(j.at("level"), r.level);
  return r;
}

Variable variable(const Json& j) {
  Variable v;
  read_value(j.at("id"), v.id);
  read_value(j.at("name"), v.name);
  read_value(j.at("path"), v.path);
  read_value(j.at("layout"), v.layout);
  read_value(j.at("unit"), v.unit);
  read_value(j.at("description"), v.description);
  read_value(j.at("mesh"), v.mesh);
  read_value(j.at("coordinates"), v.coordinates);
  read_value(j.at("enabled"), v.enabled);
  const Json& schedule = j.at("schedule");
  v.schedule = {value_of<std::int64_t>(schedule.at(0)), value_of<std::int64_t>(schedule.at(1)),
                value_of<std::int64_t>(schedule.at(2))};
  if (v.schedule.every < 1) refuse(format("variable '{}' is due every {} steps", v.path, v.schedule.every));
  read_value(j.at("store"), v.store);
  read_value(j.at("priority"), v.priority);
  read_value(j.at("chunk"), v.chunk);
  if (v.chunk.size() > DC_MAX_DIMS) refuse(format("variable '{}' has chunks of {} dimensions", v.path, v.chunk.size()));
  read_value(j.at("reduce"), v.reduce);
  v.reduction = reduction(j.at("reduction"));
  read_value(j.at("reduce_on_full"), v.reduce_on_full);
  v.reduction_on_full = reduction(j.at("reduction_on_full"));
  v.on_full = enumerator<OnFull>(j.at("on_full"), static_cast<int>(OnFull::drop));
  v.where = location(j.at("where"));
  return v;
}

Action action(const Json& j) {
  Action a;
  read_value(j.at("function"), a.function);
  read_value(j.at("library"), a.library);
  read_value(j.at("plugin"), a.plugin);
  a.scope = enumerator<dc_scope>(j.at("scope"), DC_SCOPE_GLOBAL);
  read_value(j.at("on_root"), a.on_root);
  a.where = location(j.at("where"));
  return a;
}

Event event_of(const Json& j) {
  Event e;
  read_value(j.at("id"), e.id);
  read_value(j.at("name"), e.name);
  for (const Json& item : j.at("actions")) e.actions.push_back(action(item));
  e.where = location(j.at("where"));
  return e;
}

StreamLog stream_log(const Json& j) {
  StreamLog l;
  read_value(j.at("name"), l.name);
  read_value(j.at("files"), l.files);
  read_value(j.at("block_bytes"), l.block_bytes);
  read_value(j.at("buffered"), l.buffered);
  l.where = location(j.at("where"));
  return l;
}

Plugin plugin(const Json& j) {
  Plugin p;
  read_value(j.at("name"), p.name);
  read_value(j.at("library"), p.library);
  read_value(j.at("storage"), p.storage);
  for (const Json& pair : j.at("settings")) p.settings.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  p.where = location(j.at("where"));
  return p;
}

Architecture architecture(const Json& j) {
  Architecture a;
  read_value(j.at("dedicated_cores"), a.dedicated_cores);
  read_value(j.at("clients"), a.clients);
  read_value(j.at("threads"), a.threads);
  read_value(j.at("start_server"), a.start_server);
  read_value(j.at("pin"), a.pin);
  read_value(j.at("buffer_bytes"), a.buffer_bytes);
  read_value(j.at("weights"), a.weights);
  read_value(j.at("pooled"), a.pooled);
  read_value(j.at("checksums"), a.checksums);
  read_value(j.at("buffer_timeout_ms"), a.buffer_timeout_ms);
  a.on_full = enumerator<OnFull>(j.at("on_full"), static_cast<int>(OnFull::drop));
  read_value(j.at("reduces_on_full"), a.reduces_on_full);
  read_value(j.at("spill"), a.spill);
  read_value(j.at("spill_bytes"), a.spill_bytes);
  read_value(j.at("lane_messages"), a.lane_messages);
  read_value(j.at("attach_timeout_ms"), a.attach_timeout_ms);
  read_value(j.at("finalize_timeout_ms"), a.finalize_timeout_ms);
  read_value(j.at("read_timeout_ms"), a.read_timeout_ms);
  read_value(j.at("global_timeout_ms"), a.global_timeout_ms);
  a.stale = enumerator<StalePolicy>(j.at("stale"), static_cast<int>(StalePolicy::discard));
  a.plugin_policy = enumerator<PluginPolicy>(j.at("plugin_policy"), static_cast<int>(PluginPolicy::fail_step));
  return a;
}

void check_layout(const Layout& l, std::size_t compounds) {
  const std::size_t dims = l.dimensions.size();
  if (dims < 1 || dims > DC_MAX_DIMS) refuse(format("layout '{}' has {} dimensions", l.name, dims));
  if (!l.global.empty() && l.global.size() != dims) refuse(format("layout '{}' has {} global extents", l.name, l.global.size()));
  if (!l.ghost.empty() && l.ghost.size() != dims) refuse(format("layout '{}' has {} ghost widths", l.name, l.ghost.size()));
  if (l.element_bytes == 0) refuse(format("layout '{}' has elements without bytes", l.name));
  if (l.type == DC_COMPOUND) check_index(l.compound, compounds, "compound");
}

void check_frame(const Frame& frame) {
  for (const Layout& l : frame.layouts) check_layout(l, frame.compounds.size());
  for (std::size_t i = 0; i < frame.events.size(); ++i)
    if (frame.events[i].id != i) refuse("an event's id is not its index");
  if (frame.logs.size() > kMostLogs) refuse(format("it has {} logs", frame.logs.size()));
  for (const StreamLog& l : frame.logs)
    if (l.files < 1 || l.files > kMostLogFiles || l.block_bytes == 0) refuse(format("log '{}' has {} files", l.name, l.files));
}

void check(const Model& model) {
  check_frame(model);
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].id != i) refuse("a variable's id is not its index");
    check_index(static_cast<std::int64_t>(model.variables[i].layout), model.layouts.size(), "layout");
    for (const std::uint32_t id : model.variables[i].coordinates) check_index(id, model.variables.size(), "variable");
  }
  for (const Event& event : model.events)
    for (const Action& a : event.actions)
      if (a.plugin != -1) check_index(a.plugin, model.plugins.size(), "plugin");
}

// Takes the items of long lists as soon as they are parsed: the tree of 10 000 variables would need twice the memory of the model.
class TextReader {
 public:
  void read_frame(std::string_view text) { take_frame(read(text, {"layouts", "parameters", "events"})); }
  void read_rest(std::string_view text) { take_rest(read(text, {"variables"})); }
  void read_whole(std::string_view text) {
    const Json other = read(text, {"layouts", "parameters", "events", "variables"});
    take_frame(other);
    take_rest(other);
  }
  Model& model() noexcept { return model_; }

 private:
  // Whether `parsed` becomes part of the tree.
  bool keeps(int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::value) restore_bytes(parsed);
    if (depth == 1 && event == Json::parse_event_t::key) key_ = parsed.get_ref<const std::string&>();
    if (depth == 1 && event == Json::parse_event_t::value && key_ == "damaris_model") is_known_ = parsed == kJsonVersion;
    if (depth != 2 || event != Json::parse_event_t::object_end) return true;
    if (key_ == "variables") return take(model_.variables, variable, parsed);
    if (key_ == "layouts") return take(model_.layouts, layout, parsed);
    if (key_ == "parameters") return take(model_.parameters, parameter, parsed);
    if (key_ == "events") return take(model_.events, event_of, parsed);
    return true;
  }
  template <class Item>
  bool take(std::vector<Item>& list, Item (*read_item)(const Json&), const Json& parsed) {
    require_version();
    list.push_back(read_item(parsed));
    return false;
  }
  void require_version() const {
    if (!is_known_) refuse("it is not of this version of Damaris");
  }
  Json read(std::string_view text, std::initializer_list<const char*> lists) {
    is_known_ = false;
    Json other =
        Json::parse(text, [this](int depth, Json::parse_event_t event, Json& parsed) { return keeps(depth, event, parsed); });
    require_version();
    for (const char* list : lists)
      if (const Json& left = other.at(list); !left.is_array() || !left.empty())
        refuse(format("its {} are no list of objects", list));
    return other;
  }
  void take_frame(const Json& json);
  void take_rest(const Json& json);

  Model model_;
  std::string key_;  // of the outermost object
  bool is_known_ = false;
};

void TextReader::take_frame(const Json& j) {
  read_value(j.at("simulation"), model_.simulation);
  read_value(j.at("file"), model_.file);
  read_value(j.at("folder"), model_.folder);
  model_.architecture = architecture(j.at("architecture"));
  for (const Json& item : j.at("compounds")) model_.compounds.push_back(compound(item));
  for (const Json& item : j.at("logs")) model_.logs.push_back(stream_log(item));
  read_value(j.at("log").at("level"), model_.log.level);
  read_value(j.at("log").at("file"), model_.log.file);
  read_value(j.at("log").at("summary"), model_.log.summary);
  read_value(j.at("server_log").at("place"), model_.server_log.place);
  read_value(j.at("server_log").at("bytes_before"), model_.server_log.bytes_before);
}

void TextReader::take_rest(const Json& j) {
  for (const Json& item : j.at("plugins")) model_.plugins.push_back(plugin(item));
}

// Runs `read`, and refuses what it throws.
template <class Read>
auto read_or_refuse(Read&& read) try {
  return read();
} catch (const Json::exception& wrong) {
  refuse(wrong.what());
} catch (const ExpressionError& wrong) {
  refuse(wrong.what());
}

}  // namespace

Model from_json(std::string_view text) {
  return read_or_refuse([&] {
    TextReader reader;
    reader.read_whole(text);
    check(reader.model());
    return std::move(reader.model());
  });
}

Model from_json(const JsonPartViews& parts) {
  return read_or_refuse([&] {
    TextReader reader;
    reader.read_frame(parts.frame);
    reader.read_rest(parts.rest);
    check(reader.model());
    return std::move(reader.model());
  });
}

Frame frame_from_json(std::string_view text) {
  return read_or_refuse([&] {
    TextReader reader;
    reader.read_frame(text);
    check_frame(reader.model());
    return Frame(std::move(reader.model()));
  });
}

}  // namespace damaris::model
