// Computes the sizes of a model: bytes per client and step, and the buffer required for a number of steps and clients.
// Used by: damaris-check, one thread.
// Before it: the model. After it: the report, as text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::check {

struct Sizes {
  bool known = false;  // false: some layout has no shape until the program sets parameters
  int steps = 0;
  int clients = 0;                     // of the server with the most clients; 0: known only at the start of the job
  std::uint64_t step_bytes = 0;        // of one client, every enabled variable once
  std::uint64_t client_bytes = 0;      // room one client needs for `steps`, block headers included
  std::uint64_t buffer_bytes = 0;      // room all clients of a server need, 0 without `clients`
  std::uint64_t lane_messages = 0;     // capacity of the lane of each thread of a client, also if not `known`
  std::uint64_t clients_that_fit = 0;  // with equal shares in the buffer of the XML
};

// Sets parameters of `model`, each given as NAME=VALUE, as the program may do; recomputes dependent parameters.
// Throws Error(DC_E_ARGUMENT) for a malformed pair, an unknown name, a constant, or a value out of range.
void set_parameters(model::Model& model, const std::vector<std::string>& settings);

// The parameters that affect the sizes and that the program may set, as "ni=48"; in the order of the model.
std::vector<std::string> open_parameters(const model::Model& model);

// Another value for the first of them, as "ni=96".
std::string example_setting(const model::Model& model);

// `clients` 0: the number in the XML.
Sizes measure(const model::Model& model, int steps, int clients);

// A sentence that says that the buffer of the XML does not hold the steps, of one client at least; "" if it does or the sizes are not known.
std::string shortage(const model::Model& model, const Sizes& sizes);

}  // namespace damaris::check
