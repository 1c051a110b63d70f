#include "tools/check/report.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/sizes.hpp"
#include "tools/check/text_table.hpp"

namespace damaris::check {
namespace {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string time_text(std::int64_t ms) {
  if (ms % 60'000 == 0 && ms > 0) return format("{} min", ms / 60'000);
  if (ms % 1000 == 0) return format("{} s", ms / 1000);
  return format("{} ms", ms);
}

std::string list(const std::int64_t* values, int count) { return format("{}", join(values, values + count, " x ")); }

std::string type_of(const model::Model& model, const model::Layout& layout) {
  return layout.type == DC_COMPOUND ? model.compounds[static_cast<std::size_t>(layout.compound)].name
                                    : model::type_text(layout.type);
}

std::string buffer_text(const model::Architecture& a) {
  const std::string equal = a.pooled ? "shared by all clients" : "equal shares";
  const std::string shares = a.weights.empty() ? equal : format("shares {}", join(a.weights, ":"));
  const std::string wait = a.buffer_timeout_ms == 0
                               ? "a full one refuses at once"
                               : format("a full one makes a write wait up to {}", time_text(a.buffer_timeout_ms));
  return format("{} per server, {}; {}", size_text(a.buffer_bytes), shares, wait);
}

// What happens while a write waits for room, and when its wait times out.
std::string full_text(const model::Architecture& a) {
  std::string text;
  if (a.reduces_on_full) text += "reduces harder from half full on, ";
  if (!a.spill.empty()) text += format("spills up to {} to {}, ", size_text(a.spill_bytes), a.spill);
  if (a.on_full == model::OnFull::skip) return text + "then skips the variable";
  return text + (a.on_full == model::OnFull::drop ? "then drops the step" : "then the write is an error");
}

std::string plugin_text(const model::Plugin& plugin) {
  std::string text = format("{} ({})", plugin.name, plugin.library);
  for (const auto& [key, value] : plugin.settings)
    if (!value.empty()) text += format(" {}={}", key, value);
  return text;
}

std::string stale_text(model::StalePolicy policy) {
  if (policy == model::StalePolicy::recover) return "data of a dead job are stored first";
  return policy == model::StalePolicy::discard ? "data of a dead job are discarded" : "data of a dead job stop the start";
}

std::string lanes_text(const model::Architecture& a, std::uint64_t messages) {
  const std::uint64_t bytes = messages * sizeof(shm::Message) * static_cast<std::uint64_t>(a.threads);
  const std::string each = a.threads > 1 ? format("a client for each of its {} threads", a.threads) : "a client";
  return format("{} messages of {} B {} ({})", messages, sizeof(shm::Message), each, size_text(bytes));
}

std::string lane_steps(const model::Model& model, std::uint64_t messages) {
  const std::uint64_t steps = messages / shm::step_messages(model);
  const std::string held = steps == 0 ? "less than a step" : steps == 1 ? "one step" : format("{} steps", steps);
  return format("room for {} of {} variables", held, model.variables.size());
}

std::string overview(const model::Model& model, const Sizes& sizes) {
  const model::Architecture& a = model.architecture;
  const std::string none = a.dedicated_cores == 0 ? "0: each process does the work itself"
                                                  : format("{} per node{}", a.dedicated_cores, a.pin ? ", pinned" : "");
  const std::string clients = a.clients == 0 ? "known at the start of the job" : format("{} per node", a.clients);
  std::vector<Row> rows = {
      {"dedicated cores", none},  {"clients", clients + (a.threads > 1 ? format(", {} threads each", a.threads) : "")},
      {"buffer", buffer_text(a)}, {"", full_text(a)},
      {"", stale_text(a.stale)},  {"lanes", lanes_text(a, sizes.lane_messages)}};
  if (!model.variables.empty()) rows.push_back({"", lane_steps(model, sizes.lane_messages)});
  for (const model::Plugin& plugin : model.plugins) rows.push_back({plugin.storage ? "storage" : "plugin", plugin_text(plugin)});
  const std::string reason = model::mpi_reason(model);
  rows.push_back({"log", model.log.level == "off"
                             ? "off"
                             : format("{} to {}", model.log.level, model.log.file.empty() ? "standard error" : model.log.file)});
  rows.push_back({"needs MPI", reason.empty() ? "no" : "yes: " + reason});
  return format("Simulation {}\n", model.simulation) + table({}, rows);
}

std::string parameters(const model::Model& model) {
  if (model.parameters.empty()) return "";
  std::vector<Row> rows;
  for (const model::Parameter& p : model.parameters) {
    const bool computed = !p.expression.names().empty();
    rows.push_back({p.name, model::type_name(p.type), std::to_string(p.value),
                    computed     ? "= " + p.expression.text()
                    : p.constant ? "constant"
                                 : ""});
  }
  return "\nParameters\n" + table({"name", "type", "value", ""}, rows, {2});
}

std::string compounds(const model::Model& model) {
  if (model.compounds.empty()) return "";
  std::vector<Row> rows;
  for (const model::Compound& compound : model.compounds)
    for (const model::Field& field : compound.fields) {
      const bool first = &field == &compound.fields.front();
      rows.push_back({first ? compound.name : "", first ? grouped(compound.size_bytes) : "", field.name,
                      model::type_name(field.type) + (field.count > 1 ? format("[{}]", field.count) : std::string()),
                      std::to_string(field.offset_bytes)});
    }
  return "\nCompound types\n" + table({"type", "bytes", "field", "type", "offset"}, rows, {1, 4});
}

// Extents, global extents and bytes of a layout, or why they are not known.
Row shape_cells(const model::Model& model, const model::Layout& layout, const std::vector<std::int64_t>& values) {
  try {
    const model::Shape shape = model::resolve(model, layout, values);
    const std::int64_t* ghosts_end = shape.ghost_low + shape.ndims;
    const bool ghost = std::any_of(shape.ghost_low, ghosts_end, [](auto w) { return w != 0; }) ||
                       std::any_of(shape.ghost_high, shape.ghost_high + shape.ndims, [](auto w) { return w != 0; });
    return {list(shape.extents, shape.ndims) + (ghost ? " with ghosts" : ""),
            layout.global.empty() ? "" : list(shape.global, shape.ndims), grouped(shape.bytes)};
  } catch (const Error&) {
    std::vector<std::string> texts;
    for (const auto& dimension : layout.dimensions) texts.push_back(dimension.text());
    return {format("{}", join(texts, " x ")) + " (set at run time)", "", "?"};
  }
}

// A Fortran program that forgets its language stores transposed arrays.
std::string language_note(const model::Model& model) {
  const auto is_fortran = [](const model::Layout& layout) { return layout.fortran_order; };
  const auto is_array = [](const model::Layout& layout) { return layout.dimensions.size() > 1; };
  if (std::any_of(model.layouts.begin(), model.layouts.end(), is_fortran)) return "";
  if (std::none_of(model.layouts.begin(), model.layouts.end(), is_array)) return "";
  return "  For arrays of Fortran say <simulation language=\"fortran\">.\n";
}

std::string layouts(const model::Model& model) {
  if (model.layouts.empty()) return "";
  const auto values = model::initial_parameters(model);
  std::vector<Row> rows;
  for (const model::Layout& layout : model.layouts) {
    Row row = {layout.name, type_of(model, layout)};
    for (std::string& cell : shape_cells(model, layout, values)) row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  }
  return "\nLayouts (extents in elements, slowest dimension first)\n" +
         table({"name", "type", "extents", "global", "bytes"}, rows, {4}) + language_note(model);
}

// "skipped when full, priority 2"; "" for the default.
std::string on_full_of(const model::Variable& v) {
  std::string text;
  if (v.on_full == model::OnFull::skip) text = format("skipped when full, priority {}", v.priority);
  if (v.on_full == model::OnFull::drop) text = "drops the step when full";
  if (!v.reduce_on_full.empty()) text += format("{}reduce={} when half full", text.empty() ? "" : ", ", v.reduce_on_full);
  return text;
}

// "disabled", "every 2 from 10 until 90", "not stored", the reduction; "" for the default.
std::string state_of(const model::Variable& v) {
  if (!v.enabled) return "disabled";
  const model::StepSelection none;
  std::vector<std::string> words;
  std::vector<std::string> when;
  if (v.schedule.every != none.every) when.push_back(format("every {}", v.schedule.every));
  if (v.schedule.from != none.from) when.push_back(format("from {}", v.schedule.from));
  if (v.schedule.until != none.until) when.push_back(format("until {}", v.schedule.until));
  if (!when.empty()) words.push_back(format("{}", join(when, " ")));
  if (!v.store) words.push_back("not stored");
  if (!v.reduce.empty()) words.push_back("reduce=" + v.reduce);
  if (std::string place = on_full_of(v); !place.empty()) words.push_back(std::move(place));
  return format("{}", join(words, ", "));
}

std::string variables(const model::Model& model) {
  if (model.variables.empty()) return "";
  std::vector<Row> rows;
  for (const model::Variable& v : model.variables)
    rows.push_back({v.path, model.layouts[v.layout].name, v.unit, state_of(v), v.description});
  return format("\nVariables ({})\n", rows.size()) + table({"name", "layout", "unit", "", "description"}, rows);
}

std::string logs(const model::Model& model) {
  if (model.logs.empty()) return "";
  std::vector<Row> rows;
  for (const model::StreamLog& log : model.logs)
    rows.push_back(
        {log.name, std::to_string(log.files), size_text(log.block_bytes), log.buffered ? "buffered" : "waits for the file"});
  return "\nStream logs\n" + table({"name", "files per server", "block", ""}, rows, {1});
}

std::string events(const model::Model& model) {
  if (model.events.empty()) return "";
  constexpr const char* kScopes[] = {"client", "server", "server, in one order on all"};
  std::vector<Row> rows;
  for (const model::Event& event : model.events) {
    if (event.actions.empty()) rows.push_back({event.name, "none: accepted and ignored", ""});
    for (const model::Action& a : event.actions)
      rows.push_back({event.name,
                      a.plugin >= 0 ? "plugin " + model.plugins[static_cast<std::size_t>(a.plugin)].name
                                    : format("{} of {}", a.function, a.library),
                      std::string(kScopes[a.scope]) + (a.on_root ? ", the first only" : "")});
  }
  return "\nEvents\n" + table({"name", "action", "runs once per"}, rows);
}

// The enabled variables whose layouts are empty: "'particles' (32 bytes an element)".
std::string without_shape(const model::Model& model) {
  const auto values = model::initial_parameters(model);
  std::vector<std::string> names;
  for (const model::Variable& variable : model.variables) {
    const model::Layout& layout = model.layouts[variable.layout];
    if (variable.enabled && model::resolve(model, layout, values).bytes == 0)
      names.push_back(format("'{}' ({} bytes an element)", variable.path, layout.element_bytes));
  }
  return format("{}", join(names, ", "));
}

std::string need(const model::Model& model, const Sizes& s) {
  const std::vector<std::string> open = open_parameters(model);
  if (!s.known && open.empty()) return "\nSizes\n  Not known: beyond 8 PiB.\n";
  if (!s.known)
    return "\nSizes\n" +
           wrapped(format("  Not known: they depend on parameters that the program sets; give usual values, as in --set {}.",
                          example_setting(model)),
                   kWidth, 2) +
           "\n";
  const std::string steps = s.steps == 1 ? "1 step" : format("{} steps", s.steps);
  const std::uint64_t have = model.architecture.buffer_bytes;
  std::vector<Row> rows = {{"one client writes per step", grouped(s.step_bytes) + " bytes", size_text(s.step_bytes)},
                           {format("its share for {}", steps), grouped(s.client_bytes) + " bytes", size_text(s.client_bytes)}};
  if (s.clients > 0)
    rows.push_back({format("buffer for {} client{} and {}", s.clients, s.clients == 1 ? "" : "s", steps),
                    grouped(s.buffer_bytes) + " bytes", size_text(s.buffer_bytes)});
  std::string text = "\nSizes\n" + table({}, rows, {1, 2});
  if (!open.empty())
    text += wrapped(format("  For {}, which the program may change (try --set {}).", join(open, ", "), example_setting(model)),
                    kWidth, 2) +
            "\n";
  if (const std::string left = without_shape(model); !left.empty())
    text +=
        wrapped(
            format("  Not counted are {}, whose extents are 0 until the program sets them (dc_set_shape, dc_set_parameter).", left),
            kWidth, 2) +
        "\n";
  const std::string buffer = format("  The buffer of {} ", size_text(have));
  if (!shortage(model, s).empty())
    return text + buffer + "is too small for that; writes will wait, or fail if one step does not fit.\n";
  if (s.clients == 0) return text + buffer + format("holds {} of up to {} clients per server.\n", steps, s.clients_that_fit);
  return text + buffer + "is enough.\n";
}

}  // namespace

std::string text_report(const model::Model& model, const Sizes& sizes) {
  return overview(model, sizes) + parameters(model) + compounds(model) + layouts(model) + variables(model) + logs(model) +
         events(model) + need(model, sizes);
}

}  // namespace damaris::check
