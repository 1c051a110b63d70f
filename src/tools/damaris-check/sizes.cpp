#include "tools/damaris-check/sizes.hpp"

#include <charconv>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/config/advice.hpp"

namespace damaris::check {
namespace {

// A block's header and its rounding in the arena, and the page an arena is rounded down to.
constexpr std::uint64_t kBlockOverhead = 256, kPage = 4096;

// All variables of one client once, or nothing when a layout has no shape yet or the sum is beyond 64 bits.
bool sum_up(const model::Model& model, std::uint64_t& data, std::uint64_t& blocks) {
  const auto values = model::initial_parameters(model);
  try {
    data = model::iteration_bytes(model, values);
  } catch (const Error&) {
    return false;
  }
  for (const model::Variable& variable : model.variables) blocks += variable.enabled ? 1 : 0;
  return data < (std::uint64_t{1} << 53);
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
                  format("--set {}: {} is outside the range of {}", setting, value, model::type_name(parameter.type)));
    parameter.value = value;
    return;
  }
  throw Error(DC_E_ARGUMENT, format("--set {}: no parameter '{}' is declared{}", setting, name, name_hint(name, names)));
}

// Adds the names that `expression` depends on, through computed parameters too.
void add_names(const model::Model& model, const model::Expression& expression, std::set<std::string>& names) {
  for (const std::string& name : expression.names()) {
    if (!names.insert(name).second) continue;
    for (const model::Parameter& parameter : model.parameters)
      if (parameter.name == name) add_names(model, parameter.expression, names);
  }
}

}  // namespace

void set_parameters(model::Model& model, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) set_parameter(model, setting);
  std::vector<std::int64_t> values = model::initial_parameters(model);
  model::update_parameters(model, values);
  for (std::size_t i = 0; i < values.size(); ++i) model.parameters[i].value = values[i];
}

std::vector<std::string> open_parameters(const model::Model& model) {
  std::set<std::string> used;
  for (const model::Variable& variable : model.variables)
    for (const model::Expression& dimension : model.layouts[variable.layout].dimensions) add_names(model, dimension, used);
  std::vector<std::string> open;
  for (const model::Parameter& parameter : model.parameters)
    if (!parameter.constant && used.count(parameter.name) != 0) open.push_back(format("{}={}", parameter.name, parameter.value));
  return open;
}

Sizes measure(const model::Model& model, int iterations, int clients) {
  Sizes s;
  s.iterations = iterations;
  s.clients = clients > 0 ? clients : config::clients_per_server(model);
  std::uint64_t blocks = 0;
  s.known = sum_up(model, s.iteration_bytes, blocks);
  if (!s.known) return s;
  const auto times = static_cast<std::uint64_t>(iterations);
  const auto threads = static_cast<std::uint64_t>(model.architecture.threads);
  s.client_bytes = (s.iteration_bytes + blocks * kBlockOverhead) * times + kPage * threads;
  s.clients_that_fit = model.architecture.buffer_bytes / s.client_bytes;
  if (s.clients == 0) return s;
  // The client with the smallest share sets the size of the whole.
  const double share = static_cast<double>(config::smallest_arena(model, s.clients)) * static_cast<double>(threads) /
                       static_cast<double>(model.architecture.buffer_bytes);
  s.buffer_bytes = static_cast<std::uint64_t>(std::ceil(static_cast<double>(s.client_bytes) / share));
  return s;
}

}  // namespace damaris::check
