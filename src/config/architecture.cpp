// <architecture> and <log>.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "config/build.hpp"
#include "config/values.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace damaris::config {
namespace {

constexpr std::int64_t kSmallestBuffer = 64 << 10;

void spill(Build& build, const Element& element, const Attribute& on_full, bool spills) {
  model::Architecture& a = build.model.architecture;
  const Attribute* folder = element.find("spill");
  if (spills && folder == nullptr)
    return build.problems.add(on_full.value_where,
                              format("{}: it needs spill=\"...\", a folder on a disk of the node", quoted(on_full)));
  if (!spills && folder != nullptr)
    return build.problems.add(folder->where, "spill=\"...\" has no effect without on-full=\"spill\"; add that or remove it");
  if (spills && a.dedicated_cores == 0)
    return build.problems.add(on_full.value_where,
                              format("{}: without dedicated cores there is no server to spill while a client waits; remove "
                                     "spill",
                                     quoted(on_full)));
  if (folder != nullptr) a.spill = folder->value;
  const Attribute& most = *element.find("spill-size");
  const auto bytes = parse_size(most.value);
  if (!bytes) build.problems.add(most.value_where, format("{}: it must be below 8 EiB", quoted(most)));
  a.spill_bytes = bytes.value_or(0);
}

std::uint64_t next_power_of_two(std::int64_t value) {
  std::uint64_t power = 1;
  while (power < static_cast<std::uint64_t>(value)) power *= 2;
  return power;
}

void weights(Build& build, const Element& buffer) {
  const Attribute* given = buffer.find("weights");
  const bool weighted = buffer.value("split") == "weighted";
  build.model.architecture.pooled = buffer.value("split") == "shared";
  if (weighted && given == nullptr)
    return build.problems.add(buffer.where, "split=\"weighted\" needs weights=\"...\", one number per client");
  if (!weighted && given != nullptr)
    return build.problems.add(given->where, "weights are for split=\"weighted\" only; add that or remove them");
  if (given == nullptr) return;
  for (const TextPart& piece : split(given->value, ',')) {
    const std::int64_t weight = std::stoll(piece.text);
    if (weight == 0) build.problems.add(inside(*given, piece.at), format("{}: each must be above 0", quoted(*given)));
    build.model.architecture.weights.push_back(weight);
  }
}

const std::vector<std::string> kFullStages = {"reduce", "spill", "block", "skip", "drop"};

// on-full="reduce spill skip": the measures taken besides waiting, and what happens to a write whose wait timed out.
void back_pressure(Build& build, const Element& element) {
  model::Architecture& a = build.model.architecture;
  const Attribute& attribute = *element.find("on-full");
  bool spills = false;
  int final_stages = 0;
  for (const TextPart& piece : split(attribute.value, ' ')) {
    if (piece.text.empty()) continue;
    if (std::find(kFullStages.begin(), kFullStages.end(), piece.text) == kFullStages.end())
      build.problems.add(inside(attribute, piece.at), format("{}: no stage '{}'; there are reduce, spill, block, skip and drop{}",
                                                             quoted(attribute), piece.text, name_hint(piece.text, kFullStages)));
    a.reduces_on_full |= piece.text == "reduce";
    spills |= piece.text == "spill";
    if (piece.text == "skip" || piece.text == "drop") ++final_stages;
    if (piece.text == "skip") a.on_full = model::OnFull::skip;
    if (piece.text == "drop") a.on_full = model::OnFull::drop;
  }
  if (final_stages > 1)
    build.problems.add(attribute.value_where,
                       format("{}: skip and drop exclude each other; give one here, and the other as on-full of the variables that "
                              "differ",
                              quoted(attribute)));
  spill(build, element, attribute, spills);
}

void buffer(Build& build, const Element& element) {
  model::Architecture& a = build.model.architecture;
  const Attribute& size = *element.find("size");
  const auto bytes = parse_size(size.value);
  if (!bytes || *bytes < static_cast<std::uint64_t>(kSmallestBuffer))
    build.problems.add(size.value_where,
                       format("{}: it must be at least {} and below 8 EiB", quoted(size), size_text(kSmallestBuffer)));
  a.buffer_bytes = bytes.value_or(a.buffer_bytes);
  a.checksums = element.is_true("checksum");
  a.buffer_timeout_ms = duration(build, *element.find("timeout"), 0);
  const std::string& stale = element.value("stale");
  a.stale = stale == "recover"   ? model::StalePolicy::recover
            : stale == "discard" ? model::StalePolicy::discard
                                 : model::StalePolicy::refuse;
  weights(build, element);
  back_pressure(build, element);
}

void section(Build& build, const Element& element) {
  model::Architecture& a = build.model.architecture;
  if (element.name == "dedicated") {
    a.dedicated_cores = static_cast<int>(number(build, *element.find("cores"), 0, 1024));
  } else if (element.name == "clients") {
    const Attribute& count = *element.find("count");
    a.clients = count.value == "auto" ? 0 : static_cast<int>(number(build, count, 1, model::kMostClients));
    a.threads = static_cast<int>(number(build, *element.find("threads"), 1, 256));
  } else if (element.name == "server") {
    a.start_server = element.value("start") == "auto";
    a.attach_timeout_ms = duration(build, *element.find("attach-timeout"), 1);
    a.finalize_timeout_ms = duration(build, *element.find("finalize-timeout"), 1);
    a.read_timeout_ms = duration(build, *element.find("read-timeout"), 1);
  } else if (element.name == "buffer") {
    buffer(build, element);
  } else if (element.name == "lanes") {
    if (const Attribute* events = element.find("events")) a.lane_messages = next_power_of_two(number(build, *events, 16, 1 << 20));
  } else if (element.name == "placement") {
    a.pin = element.is_true("pin");
  } else if (element.name == "plugins") {
    const Attribute& policy = *element.find("policy");
    a.plugin_policy = policy.value == "disable" ? model::PluginPolicy::disable : model::PluginPolicy::fail_step;
  } else if (element.name == "global") {
    a.global_timeout_ms = duration(build, *element.find("timeout"), 1);
  }
}

namespace fs = std::filesystem;

// What the run of `basename` calls its files and locks (docs/file-format.md), for any server and step.
bool is_name_of_run(const fs::path& file, const fs::path& basename) {
  constexpr std::array<std::string_view, 4> kEndings = {".jsonl", ".h5", ".xmf", ".lock"};
  if (file.parent_path() != basename.parent_path()) return false;
  const std::string name = file.filename().string(), start = basename.filename().string() + ".";
  if (!begins_with(name, start) && !begins_with(name, "." + start)) return false;
  return std::find(kEndings.begin(), kEndings.end(), file.extension().string()) != kEndings.end();
}

bool is_file_of_run(const model::Model& model, const fs::path& file) {
  for (const model::Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings)
      if (plugin.storage && key == "basename" && is_name_of_run(file, absolute_path(value))) return true;
  return false;
}

}  // namespace

void build_architecture(Build& build) {
  build.model.simulation = build.root.value("name");
  if (const Element* architecture = build.only("architecture"))
    for (const Element& child : architecture->children) section(build, child);
}

void build_log(Build& build) {
  const Element* log = build.only("log");
  build.model.log.level = "warning";  // a run that loses data reports it without being asked
  if (log == nullptr) return;
  build.model.log.level = log->value("level");
  build.model.log.file = log->value_or_empty("file");
  build.model.log.summary = log->value("summary") == "yes";
}

void check_log_file(Build& build) {
  const std::vector<const Element*> logs = build.all("log");
  const Attribute* file = logs.empty() ? nullptr : logs.front()->find("file");
  if (file == nullptr || file->value.empty()) return;
  const fs::path path = absolute_path(file->value);
  const auto refuse = [&](const char* what) {
    build.problems.add(file->value_where, format("{}: {}; name another file, such as '{}'", quoted(*file), what,
                                                 model::background_log_file(build.model)));
  };
  if (path == absolute_path(build.model.file)) refuse("it is this XML, to which the log would be added");
  if (is_file_of_run(build.model, path))
    refuse("this is what files of the run are called, and the log would be added to one of them");
}

}  // namespace damaris::config
