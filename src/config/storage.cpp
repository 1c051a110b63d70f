#include <algorithm>

#include "config/build.hpp"
#include "config/plugins.hpp"
#include "config/reduction.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/base/units.hpp"

namespace damaris::config {
namespace {

const std::vector<std::string> kFilters = {"shuffle", "deflate"};

void check_filter(Build& build, const Attribute& attribute, const TextPart& piece, Declared& seen) {
  const std::vector<TextPart> parts = split(piece.text, ':', piece.at);
  const std::string& name = parts.front().text;
  const auto wrong = [&](const TextPart& part, const std::string& why) {
    build.problems.add(inside(attribute, part.at), format("{}: {}", quoted(attribute), why));
  };
  if (name != "shuffle" && name != "deflate")
    return wrong(parts.front(),
                 format("no filter '{}'; known are shuffle and deflate:LEVEL{}", name,
                        nearest_name(name, kFilters).empty() ? "" : format("; did you mean '{}'?", nearest_name(name, kFilters))));
  if (seen.find(name) >= 0) return wrong(parts.front(), format("'{}' stands twice", name));
  seen.add(build, "filter", name, attribute.where, 0);
  const bool level = parts.size() == 2 && parts[1].text.size() == 1 && parts[1].text[0] >= '0' && parts[1].text[0] <= '9';
  if (name == "shuffle" && parts.size() > 1) wrong(parts[1], "shuffle takes no level");
  if (name == "deflate" && parts.size() > 1 && !level) wrong(parts[1], "the level of deflate must be 0 to 9");
}

// Nor as the name of a file of one step, which another run could have: <basename>.s<server>.i<step>.
void check_basename(Build& build, const Attribute& attribute) {
  const std::string& value = attribute.value;
  const std::string last = value.substr(value.rfind('/') + 1);
  if (last.empty() || last == "." || last == "..")
    build.problems.add(attribute.value_where, format("{}: it ends in '{}'; add the start of the file names", quoted(attribute),
                                                     last.empty() ? "/" : last));
  const std::size_t number = value.find_last_not_of("0123456789") + 1;
  if (number < value.size() && number >= 2 && value.compare(number - 2, 2, ".i") == 0)
    build.problems.add(attribute.value_where,
                       format("{}: it ends as a file of one step does; leave out '{}', or write it in another way",
                              quoted(attribute), value.substr(number - 2)));
}

// Variables that say nothing themselves. Of those that are no reals only the bytes are compressed.
void reduce_the_others(Build& build, const Attribute& attribute) {
  const dc_reduction_t reals = reduction(build, attribute);
  if (build.model.layouts.empty()) return;  // a problem already, if there is a variable
  for (model::Variable& variable : build.model.variables) {
    if (!variable.reduce.empty()) continue;
    const dc_type type = build.model.layouts[variable.layout].type;
    const bool real = type == DC_FLOAT32 || type == DC_FLOAT64;
    variable.reduce = attribute.value;
    variable.reduction = reals;
    if (!real) variable.reduction.precision = DC_EXACT;
  }
}

void check_schedule(Build& build, const Element& element) {
  number(build, *element.find("writers"), 1, 1'000'000);
  const Attribute& schedule = *element.find("schedule");
  if (schedule.value == "coordinated" && build.model.architecture.dedicated_cores == 0)
    build.problems.add(schedule.value_where,
                       format("{}: without dedicated cores there are no servers that could wait for each other; "
                              "say immediate, or give <dedicated cores=\"1\"/>",
                              quoted(schedule)));
}

// What only a server with a file of its own can do.
std::string obstacle_to_sharing(const dc_reduction_t& reduction) {
  if (reduction.codec == DC_CODEC_ZSTD) return "zstd, which HDF5 cannot run itself; say deflate";
  if (reduction.precision == DC_FLOAT16)
    return "16 bits, whose scale is found on each server; say absolute:ERROR or relative:ERROR";
  return "";
}

void check_files(Build& build, const Element& element) {
  number(build, *element.find("group-size"), 1, 1'000'000);
  const Attribute& files = *element.find("files");
  if (files.value == "per-server") return;
  const auto wrong = [&](const std::string& why) { build.problems.add(files.value_where, format("{}: {}", quoted(files), why)); };
  if (build.model.architecture.dedicated_cores == 0)
    wrong(
        "without dedicated cores there are no servers that could write together; say per-server, or give <dedicated cores=\"1\"/>");
  if (const Attribute& schedule = *element.find("schedule"); schedule.value != "immediate")
    wrong(format("the servers of a file write it at the same time, which {} is not; say schedule=\"immediate\"", quoted(schedule)));
  if (build.model.architecture.reduces_on_full)
    wrong("the servers of a file reduce alike, and on-full=\"reduce\" is each server's own; leave it out, or say per-server");
  for (const model::Variable& variable : build.model.variables)
    if (const std::string obstacle = obstacle_to_sharing(variable.reduction); !obstacle.empty())
      wrong(format("variable '{}' has reduce=\"{}\": {}, or per-server", variable.name, variable.reduce, obstacle));
}

std::uint64_t memory(Build& build, const Attribute& attribute) {
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
  const auto bytes = parse_size(attribute.value);
  if (bytes && *bytes >= kLeast) return *bytes;
  build.problems.add(attribute.value_where,
                     format("{}: it must be at least {} and below 8 EiB", quoted(attribute), size_text(kLeast)));
  return kLeast;
}

// Who waits for the end hears what was given up, and not that his time is over.
std::int64_t retry_ms(Build& build, const Attribute& attribute) {
  return std::min(duration(build, attribute, 0), build.model.architecture.finalize_timeout_ms / 2);
}

model::Plugin hdf5(Build& build, const Element& element) {
  model::Plugin plugin;
  plugin.name = "hdf5";
  plugin.library = "damaris_hdf5.so";
  plugin.storage = true;
  plugin.where = element.where;
  for (const Attribute& attribute : element.attributes)
    if (attribute.name != "reduce" && attribute.name != "turn-timeout" && attribute.name != "retry" && attribute.name != "memory")
      plugin.settings.emplace_back(attribute.name, attribute.value);
  plugin.settings.emplace_back("memory-bytes", std::to_string(memory(build, *element.find("memory"))));
  plugin.settings.emplace_back("turn-timeout-ms", std::to_string(duration(build, *element.find("turn-timeout"), 1)));
  plugin.settings.emplace_back("retry-ms", std::to_string(retry_ms(build, *element.find("retry"))));
  check_schedule(build, element);
  if (const Attribute* reduce = element.find("reduce")) reduce_the_others(build, *reduce);
  check_files(build, element);
  number(build, *element.find("threads"), 1, 64);
  if (const Attribute* basename = element.find("basename"))
    check_basename(build, *basename);
  else
    plugin.settings.emplace_back("basename", build.model.simulation);
  const Attribute& filters = *element.find("filters");
  Declared seen;
  if (filters.value.find_first_not_of(' ') != std::string::npos)
    for (const TextPart& piece : split(filters.value, ',')) check_filter(build, filters, piece, seen);
  return plugin;
}

}  // namespace

void build_storage(Build& build) {
  const Element* storage = build.only("storage");
  if (storage == nullptr) return;
  Declared names;
  for (const Element& child : storage->children) {
    model::Plugin plugin = child.name == "hdf5" ? hdf5(build, child) : table_plugin(build, child);
    plugin.storage = true;
    if (names.add(build, "storage", plugin.name, child.where, 0)) build.model.plugins.push_back(std::move(plugin));
  }
}

}  // namespace damaris::config
