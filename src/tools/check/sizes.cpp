#include "tools/check/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "config/advice.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/shm/block.hpp"
#include "core/shm/sizes.hpp"

namespace damaris::check {
namespace {

constexpr std::uint64_t kPage = 4096;  // an arena is a number of whole pages

std::uint64_t up_to_page(double bytes) {
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::ceil(std::min(bytes, kMost) / kPage)) * kPage;
}

// The fraction of the buffer available to one thread of the client with the smallest share.
double smallest_share(const model::Architecture& a, int clients) {
  constexpr std::uint64_t kWhole = std::uint64_t{1} << 50;  // large enough to make rounding to pages negligible
  return static_cast<double>(config::smallest_share(a, kWhole, clients)) / static_cast<double>(kWhole);
}

// Sums all variables of one client, each written once: as data, and as blocks in its arena with headers of full length. Returns false if a
// layout has no shape yet, or for sizes beyond any buffer.
bool sum_up(const model::Model& model, std::uint64_t& data, std::uint64_t& blocks) {
  const auto values = model::initial_parameters(model);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  try {
    data = model::step_bytes(model, values);
  } catch (const Error&) {
    return false;
  }
  if (data > kMost) return false;
  for (const model::Variable& variable : model.variables) {
    if (!variable.enabled) continue;
    const model::Shape shape = model::resolve(model, model.layouts[variable.layout], values);
    blocks += shm::block_bytes(shape.bytes, {shape.ndims, shm::kAllLists.flags});
  }
  return true;
}

void set_parameter(model::Model& model, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals), text = equals == std::string::npos ? "" : setting.substr(equals + 1);
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size())
    throw Error(DC_E_ARGUMENT, format("--set {}: write NAME=NUMBER, for example --set ni=48", setting));
  std::vector<std::string> names;
  for (model::Parameter& parameter : model.parameters) {
    names.push_back(parameter.name);
    if (parameter.name != name) continue;
    if (parameter.constant)
      throw Error(DC_E_ARGUMENT,
                  format("--set {}: parameter '{}' is constant or computed from others; the program cannot set it", setting, name));
    if (value < model::lowest(parameter.type) || value > model::highest(parameter.type))
      throw Error(DC_E_ARGUMENT,
                  format("--set {}: {} is outside the range of {}", setting, value, model::type_text(parameter.type)));
    parameter.value = value;
    return;
  }
  throw Error(DC_E_ARGUMENT, format("--set {}: no parameter '{}' is declared{}", setting, name, name_hint(name, names)));
}

// Adds the names that `expression` depends on, also through computed parameters.
void add_names(const model::Model& model, const model::Expression& expression, std::set<std::string>& names) {
  for (const std::string& name : expression.names()) {
    if (!names.insert(name).second) continue;
    for (const model::Parameter& parameter : model.parameters)
      if (parameter.name == name) add_names(model, parameter.expression, names);
  }
}

// The parameters that affect the sizes and that the program may set.
std::vector<const model::Parameter*> open_ones(const model::Model& model) {
  std::set<std::string> used;
  for (const model::Variable& variable : model.variables)
    for (const model::Expression& dimension : model.layouts[variable.layout].dimensions) add_names(model, dimension, used);
  std::vector<const model::Parameter*> open;
  for (const model::Parameter& parameter : model.parameters)
    if (!parameter.constant && used.count(parameter.name) != 0) open.push_back(&parameter);
  return open;
}

}  // namespace

void set_parameters(model::Model& model, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) set_parameter(model, setting);
  std::vector<std::int64_t> values = model::initial_parameters(model);
  model::update_parameters(model, values);
  for (std::size_t i = 0; i < values.size(); ++i) model.parameters[i].value = values[i];
}

std::vector<std::string> open_parameters(const model::Model& model) {
  std::vector<std::string> open;
  for (const model::Parameter* parameter : open_ones(model)) open.push_back(format("{}={}", parameter->name, parameter->value));
  return open;
}

std::string example_setting(const model::Model& model) {
  const model::Parameter& first = *open_ones(model).front();
  const std::int64_t most = model::highest(first.type);
  if (first.value <= 0) return format("{}={}", first.name, std::min<std::int64_t>(100, most));
  return format("{}={}", first.name, first.value <= most / 2 ? first.value * 2 : first.value / 2);
}

Sizes measure(const model::Model& model, int steps, int clients) {
  Sizes s;
  s.steps = steps;
  s.clients = clients > 0 ? clients : config::clients_per_server(model);
  s.lane_messages = shm::lane_capacity(model, static_cast<std::uint64_t>(s.clients));
  std::uint64_t blocks = 0;
  s.known = sum_up(model, s.step_bytes, blocks);
  if (!s.known) return s;
  const model::Architecture& a = model.architecture;
  // Each thread has an arena of its own.
  const double arena = static_cast<double>(blocks) * steps / a.threads;
  s.client_bytes = up_to_page(arena) * static_cast<std::uint64_t>(a.threads);
  s.clients_that_fit = s.client_bytes == 0 ? 0 : a.buffer_bytes / s.client_bytes;
  if (s.clients > 0) s.buffer_bytes = up_to_page(static_cast<double>(up_to_page(arena)) / smallest_share(a, s.clients));
  return s;
}

std::string shortage(const model::Model& model, const Sizes& s) {
  const std::uint64_t have = model.architecture.buffer_bytes, need = s.clients > 0 ? s.buffer_bytes : s.client_bytes;
  if (!s.known || have >= need) return "";
  const int clients = std::max(s.clients, 1);
  const std::string advice = s.steps == 1 ? ", or write less in a step" : ", or check --steps 1 if writes may wait for room";
  return format("{}: <buffer size=\"{}B\"> is too small for {} step{} of {} client{}; give it {} bytes{}", model.file, have,
                s.steps, s.steps == 1 ? "" : "s", clients, clients == 1 ? "" : "s", need, advice);
}

}  // namespace damaris::check
