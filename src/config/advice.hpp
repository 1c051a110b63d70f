// Sizes of a model against its buffer, and what is allowed but probably not meant.
// Used by: parse (sizes that cannot work) at start-up, and damaris-check (the rest); no other library needed.
// Before it: a model. After it: errors and warnings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

// Clients of the server with most of them, or 0 when it is known only at the start of the job.
int clients_per_server(const model::Model& model);

// The smallest part of the buffer that one thread of one client of `clients` gets. Bytes.
std::uint64_t smallest_arena(const model::Model& model, int clients);

// Whether the extents of `layout` cannot change while the job runs (except by dc_set_shape).
bool is_fixed(const model::Model& model, const model::Layout& layout);

// Sentences "file:line:column: ..." about things that are allowed.
std::vector<std::string> warnings(const model::Model& model);

}  // namespace damaris::config
