#include "tools/damaris-check/sizes.hpp"

#include <cmath>

#include "core/base/error.hpp"
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

}  // namespace

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
  const double share = static_cast<double>(config::smallest_arena(model, s.clients)) * static_cast<double>(threads) / static_cast<double>(model.architecture.buffer_bytes);
  s.buffer_bytes = static_cast<std::uint64_t>(std::ceil(static_cast<double>(s.client_bytes) / share));
  return s;
}

}  // namespace damaris::check
