#include "config/advice.hpp"

#include <algorithm>
#include <map>

#include "config/build.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/shm/region.hpp"
#include "core/shm/sizes.hpp"

namespace damaris::config {
namespace {

// Parameters whose value cannot change: constants, and those computed only from constants.
std::vector<bool> fixed_parameters(const model::Model& model) {
  std::map<std::string, bool> fixed;
  std::vector<bool> result;
  for (const model::Parameter& parameter : model.parameters) {
    const auto& names = parameter.expression.names();
    const bool is_fixed =
        parameter.constant && std::all_of(names.begin(), names.end(), [&](const std::string& name) { return fixed[name]; });
    fixed[parameter.name] = is_fixed;
    result.push_back(is_fixed);
  }
  return result;
}

// The message of an Error from resolve() without its location, which Problems adds.
std::string without_place(const model::Model& model, Location where, const std::string& sentence) {
  const std::string place = model::place(model, where) + ": ";
  return sentence.compare(0, place.size(), place) == 0 ? sentence.substr(place.size()) : sentence;
}

// Layouts whose shape is invalid with the initial parameter values.
void unresolved(const model::Model& model, std::vector<std::pair<const model::Layout*, std::string>>& wrong) {
  const auto values = model::initial_parameters(model);
  for (const model::Layout& layout : model.layouts) {
    try {
      model::resolve(model, layout, values);
    } catch (const Error& error) {
      wrong.emplace_back(&layout, without_place(model, layout.where, error.sentence()));
    }
  }
}

// The memory that a dataset must fit into.
std::uint64_t largest_dataset_bytes(const model::Model& model, int clients) {
  const model::Architecture& a = model.architecture;
  return a.pooled ? a.buffer_bytes : smallest_arena(model, clients);
}

std::string capacity_text(const model::Model& model, int clients) {
  const model::Architecture& a = model.architecture;
  if (a.pooled) return format("the {} clients share {}", clients, size_text(a.buffer_bytes));
  return format("one of {} clients{} gets {} of the buffer", clients, a.threads > 1 ? format(" with {} threads", a.threads) : "",
                size_text(smallest_arena(model, clients)));
}

void check_datasets(Build& build) {
  const int clients = clients_per_server(build.model);
  if (clients == 0) return;
  const auto values = model::initial_parameters(build.model);
  const std::uint64_t arena = largest_dataset_bytes(build.model, clients);
  for (const model::Variable& variable : build.model.variables) {
    const model::Layout& layout = build.model.layouts[variable.layout];
    if (!variable.enabled || !is_fixed(build.model, layout)) continue;
    const std::uint64_t bytes = model::resolve(build.model, layout, values).bytes;
    if (shm::block_bytes(bytes, shm::form_of(layout)) > arena)
      build.problems.add(variable.where, format("variable '{}' has {}, but {}; give <buffer size=\"...\"> more", variable.path,
                                                size_text(bytes), capacity_text(build.model, clients)));
  }
}

// What becomes of the data that stale="recover" stores; "" if they stay.
std::string fate_of_recovered_data(const model::Model& model) {
  if (model.architecture.stale != model::StalePolicy::recover) return "";
  for (const model::Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings) {
      if (plugin.name != "hdf5" || key != "exists") continue;
      if (value == "overwrite") return "exists=\"overwrite\" of <hdf5> removes it when this run stores its first step";
      if (value == "auto") return "exists=\"auto\" of <hdf5> then refuses to start, as that run has not ended";
    }
  return "";
}

void warn_of_buffer(const model::Model& model, std::vector<std::string>& advice) {
  const int clients = clients_per_server(model);
  const std::uint64_t bytes = model::step_bytes(model, model::initial_parameters(model));
  if (clients == 0 || bytes <= smallest_arena(model, clients)) return;
  advice.push_back(format("{}: a step of all variables has {} per client, but {}; writing all of them in one step will fail",
                          model.file, size_text(bytes), capacity_text(model, clients)));
}

}  // namespace

int clients_per_server(const model::Model& model) {
  const model::Architecture& a = model.architecture;
  if (a.dedicated_cores == 0) return 1;
  return (a.clients + a.dedicated_cores - 1) / a.dedicated_cores;
}

// Of the clients' shares, as the threads of a client have equal ones: all together may be hundreds of millions.
std::uint64_t smallest_share(const model::Architecture& architecture, std::uint64_t total_bytes, int clients) {
  const auto shares = shm::arena_shares(total_bytes, static_cast<std::uint32_t>(clients), 1, architecture.weights);
  return *std::min_element(shares.begin(), shares.end()) / static_cast<std::uint64_t>(architecture.threads) / shm::kPage *
         shm::kPage;
}

std::uint64_t smallest_arena(const model::Model& model, int clients) {
  return smallest_share(model.architecture, model.architecture.buffer_bytes, clients);
}

bool is_fixed(const model::Model& model, const model::Layout& layout) {
  const std::vector<bool> fixed = fixed_parameters(model);
  const auto keeps = [&](const model::Expression& expression) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      const auto& names = expression.names();
      if (!fixed[i] && std::find(names.begin(), names.end(), model.parameters[i].name) != names.end()) return false;
    }
    return true;
  };
  return std::all_of(layout.dimensions.begin(), layout.dimensions.end(), keeps) &&
         std::all_of(layout.global.begin(), layout.global.end(), keeps);
}

std::vector<std::string> warnings(const model::Model& model) {
  std::vector<std::string> advice;
  std::vector<std::pair<const model::Layout*, std::string>> wrong;
  unresolved(model, wrong);
  for (const auto& [layout, sentence] : wrong)
    advice.push_back(
        format("{}: {} at the start; set the parameters before the first write", model::place(model, layout->where), sentence));
  if (wrong.empty()) warn_of_buffer(model, advice);
  if (const std::string fate = fate_of_recovered_data(model); !fate.empty())
    advice.push_back(
        format("{}: stale=\"recover\" stores the data of a dead run, and {}; use exists=\"append\" to keep it and go on",
               model.file, fate));
  const bool only_logs = model.variables.empty() && !model.logs.empty();
  if (!only_logs &&
      std::none_of(model.plugins.begin(), model.plugins.end(), [](const model::Plugin& plugin) { return plugin.storage; }))
    advice.push_back(format("{}: no <storage>: nothing will be stored, only actions see the data", model.file));
  return advice;
}

void check_model(Build& build) {
  std::vector<std::pair<const model::Layout*, std::string>> wrong;
  unresolved(build.model, wrong);
  // A layout that depends on parameters set by the program may not have a valid shape yet.
  for (const auto& [layout, sentence] : wrong)
    if (is_fixed(build.model, *layout)) build.problems.add(layout->where, sentence);
  if (build.problems.empty() && wrong.empty()) check_datasets(build);
}

}  // namespace damaris::config
