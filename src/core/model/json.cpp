#include "core/model/json.hpp"

#include <initializer_list>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace damaris::model {
namespace {

// The text may come from a damaged region: every number that is used as an index or an enumerator is checked.
[[noreturn]] void refuse(const std::string& why) { throw Error(DC_E_CONFIG, "the compiled model cannot be used: " + why); }

// Of Fields, which describes the members of each struct for both directions: T& when they are read, const T& when they are written.
template <class Io, class T>
using Of = std::conditional_t<Io::kReads, T&, const T&>;

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  Reader& operator()(const char* key, T& value) {
    read(json_.at(key), value);
    return *this;
  }
  template <class E>
  Reader& operator()(const char* key, E& value, decltype(E{}) last) {
    int number = 0;
    read_value(json_.at(key), number);
    if (number < 0 || number > static_cast<int>(last)) refuse(format("{} is not a known enumerator", number));
    value = static_cast<E>(number);
    return *this;
  }
  template <class... T>
  void items(T&... values) {
    std::size_t i = 0;
    (read(json_.at(i++), values), ...);
    if (json_.size() != i) refuse(format("{} is no list of {}", text_of(json_), i));
  }
  template <class T>
  static void read(const Json& json, T& value);
  template <class T>
  static void read(const Json& json, std::vector<T>& list) {  // behind what it holds
    for (const Json& item : json.get_ref<const Json::array_t&>()) read(item, list.emplace_back());
  }

 private:
  const Json& json_;
};

class Writer {
 public:
  static constexpr bool kReads = false;
  template <class T>
  Writer& operator()(const char* key, const T& value, T /*last*/ = {}) {
    json_[key] = written(value);
    return *this;
  }
  template <class... T>
  void items(const T&... values) {
    json_ = Json::array({written(values)...});
  }
  Json& json() noexcept { return json_; }
  template <class T>
  static Json written(const T& value);
  template <class T>
  static Json written(const std::vector<T>& list) {
    Json items = Json::array();
    for (const T& item : list) items.push_back(written(item));
    return items;
  }

 private:
  Json json_;
};

using Setting = decltype(Plugin::settings)::value_type;

template <class Io>
struct Fields {
  Io& io;

  void of(Of<Io, Location> l) { io.items(l.line, l.column); }
  void of(Of<Io, Parameter> p) {
    io("name", p.name)("type", p.type, DC_COMPOUND)("expression", p.expression)("value", p.value)("constant", p.constant);
    io("where", p.where);
  }
  void of(Of<Io, Field> f) { io("name", f.name)("type", f.type, DC_CHAR)("count", f.count)("offset_bytes", f.offset_bytes); }
  void of(Of<Io, Compound> c) { io("name", c.name)("fields", c.fields)("size_bytes", c.size_bytes); }
  void of(Of<Io, GhostWidth> g) { io.items(g.low, g.high); }
  void of(Of<Io, Layout> l) {
    io("name", l.name)("type", l.type, DC_COMPOUND)("compound", l.compound)("element_bytes", l.element_bytes);
    io("fortran_order", l.fortran_order)("dimensions", l.dimensions)("global", l.global)("ghost", l.ghost)("where", l.where);
  }
  void of(Of<Io, dc_reduction_t> r) {
    io("precision", r.precision, DC_FLOAT16)("bound", r.bound)("has_packing", r.has_packing)("scale", r.scale)("offset", r.offset);
    io("codec", r.codec, DC_CODEC_ZSTD)("keep_on_overflow", r.keep_on_overflow)("level", r.level);
  }
  void of(Of<Io, StepSelection> s) { io.items(s.every, s.from, s.until); }
  void of(Of<Io, Variable> v) {
    io("id", v.id)("name", v.name)("path", v.path)("layout", v.layout)("unit", v.unit)("description", v.description);
    io("mesh", v.mesh)("coordinates", v.coordinates)("enabled", v.enabled)("schedule", v.schedule)("store", v.store);
    io("priority", v.priority)("chunk", v.chunk)("reduce", v.reduce)("reduction", v.reduction);
    io("reduce_on_full", v.reduce_on_full)("reduction_on_full", v.reduction_on_full)("on_full", v.on_full, OnFull::drop);
    io("where", v.where);
  }
  void of(Of<Io, Action> a) {
    io("function", a.function)("library", a.library)("plugin", a.plugin)("scope", a.scope, DC_SCOPE_GLOBAL)("on_root", a.on_root);
    io("where", a.where);
  }
  void of(Of<Io, Event> e) { io("id", e.id)("name", e.name)("actions", e.actions)("where", e.where); }
  void of(Of<Io, StreamLog> l) {
    io("name", l.name)("files", l.files)("block_bytes", l.block_bytes)("buffered", l.buffered)("where", l.where);
  }
  void of(Of<Io, Setting> s) { io.items(s.first, s.second); }
  void of(Of<Io, Plugin> p) {
    io("name", p.name)("library", p.library)("storage", p.storage)("settings", p.settings)("where", p.where);
  }
  void of(Of<Io, Architecture> a) {
    io("dedicated_cores", a.dedicated_cores)("clients", a.clients)("threads", a.threads)("start_server", a.start_server);
    io("pin", a.pin)("buffer_bytes", a.buffer_bytes)("weights", a.weights)("pooled", a.pooled)("checksums", a.checksums);
    io("buffer_timeout_ms", a.buffer_timeout_ms)("on_full", a.on_full, OnFull::drop)("reduces_on_full", a.reduces_on_full);
    io("spill", a.spill)("spill_bytes", a.spill_bytes)("lane_messages", a.lane_messages);
    io("attach_timeout_ms", a.attach_timeout_ms)("finalize_timeout_ms", a.finalize_timeout_ms);
    io("read_timeout_ms", a.read_timeout_ms)("global_timeout_ms", a.global_timeout_ms)("stale", a.stale, StalePolicy::discard);
    io("plugin_policy", a.plugin_policy, PluginPolicy::fail_step);
  }
  void of(Of<Io, LogSettings> l) { io("level", l.level)("file", l.file)("summary", l.summary); }
  void of(Of<Io, Frame> f) {
    io("simulation", f.simulation)("file", f.file)("folder", f.folder)("architecture", f.architecture)("parameters", f.parameters);
    io("compounds", f.compounds)("layouts", f.layouts)("events", f.events)("logs", f.logs)("log", f.log);
    io("server_log", f.server_log);
  }
  void rest_of(Of<Io, Model> m) { io("variables", m.variables)("plugins", m.plugins); }
};

template <class Io, class T, class = void>
constexpr bool kHasFields = false;
template <class Io, class T>
constexpr bool kHasFields<Io, T, std::void_t<decltype(std::declval<Fields<Io>>().of(std::declval<Of<Io, T>>()))>> = true;

template <class T>
void Reader::read(const Json& json, T& value) {
  Reader io(json);
  if constexpr (std::is_same_v<T, Expression>)
    value = Expression::parse(json.get_ref<const std::string&>());
  else if constexpr (kHasFields<Reader, T>)
    Fields<Reader>{io}.of(value);
  else
    read_value(json, value);
}

template <class T>
Json Writer::written(const T& value) {
  Writer io;
  if constexpr (std::is_same_v<T, Expression>)
    return value.text();
  else if constexpr (kHasFields<Writer, T>)
    Fields<Writer>{io}.of(value);
  else
    return value;
  return io.json_;
}

void check_index(std::int64_t index, std::size_t size, const char* what) {
  if (index < 0 || static_cast<std::size_t>(index) >= size) refuse(format("{} {} does not exist", what, index));
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
    const Variable& v = model.variables[i];
    if (v.id != i) refuse("a variable's id is not its index");
    if (v.schedule.every < 1) refuse(format("variable '{}' is due every {} steps", v.path, v.schedule.every));
    if (v.chunk.size() > DC_MAX_DIMS) refuse(format("variable '{}' has chunks of {} dimensions", v.path, v.chunk.size()));
    check_index(static_cast<std::int64_t>(v.layout), model.layouts.size(), "layout");
    for (const std::uint32_t id : v.coordinates) check_index(id, model.variables.size(), "variable");
  }
  for (const Event& event : model.events)
    for (const Action& a : event.actions)
      if (a.plugin != -1) check_index(a.plugin, model.plugins.size(), "plugin");
}

// Takes the items of long lists as soon as they are parsed: the tree of 10 000 variables would need twice the memory of the model.
class TextReader {
 public:
  void read_frame(std::string_view text) { fill_frame(read(text, {"layouts", "parameters", "events"})); }
  void read_rest(std::string_view text) { fill_rest(read(text, {"variables"})); }
  void read_whole(std::string_view text) {
    const Json other = read(text, {"layouts", "parameters", "events", "variables"});
    fill_frame(other);
    fill_rest(other);
  }
  Model& model() noexcept { return model_; }

 private:
  // Whether `parsed` becomes part of the tree.
  bool keeps(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) key_ = parsed.get_ref<const std::string&>();
    if (depth == 1 && event == Json::parse_event_t::value && key_ == "damaris_model") is_known_ = parsed == kJsonVersion;
    if (depth != 2 || event != Json::parse_event_t::object_end) return true;
    if (key_ == "variables") return take(model_.variables, parsed);
    if (key_ == "layouts") return take(model_.layouts, parsed);
    if (key_ == "parameters") return take(model_.parameters, parsed);
    if (key_ == "events") return take(model_.events, parsed);
    return true;
  }
  template <class Item>
  bool take(std::vector<Item>& list, const Json& parsed) {
    require_version();
    Reader::read(parsed, list.emplace_back());
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
  // What is left of lists adds nothing.
  void fill_frame(const Json& json) { Reader::read(json, static_cast<Frame&>(model_)); }
  void fill_rest(const Json& json) {
    Reader io(json);
    Fields<Reader>{io}.rest_of(model_);
  }

  Model model_;
  std::string key_;  // of the outermost object
  bool is_known_ = false;
};

Json frame_json(const Frame& frame) {
  for (const std::string& path : {frame.file, frame.folder})  // all others are from the XML
    if (find_not_utf8(path) != std::string::npos)
      throw Error(DC_E_CONFIG, format("'{}', the XML or the working folder, is not UTF-8; choose another name", path));
  Writer io;
  Fields<Writer>{io("damaris_model", kJsonVersion)}.of(frame);
  return io.json();
}

Json rest_json(const Model& model) {
  Writer io;
  Fields<Writer>{io("damaris_model", kJsonVersion)}.rest_of(model);
  return io.json();
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

std::string to_json(const Model& model) {
  Json whole = frame_json(model);
  whole.update(rest_json(model));
  return text_of(whole);
}

JsonParts to_json_parts(const Model& model) { return {text_of(frame_json(model)), text_of(rest_json(model))}; }

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
