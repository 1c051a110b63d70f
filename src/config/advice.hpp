// Checks a model against its buffer size, and warns about settings that are valid but probably unintended.
// Used by: parse (impossible sizes) at start-up, and damaris-check (the rest); needs no other library.
// Before it: a model. After it: errors and warnings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model.hpp"

namespace damaris::config {

// The largest number of clients any server gets, or 0 when only the start of the job determines it.
int clients_per_server(const model::Model& model);

// The smallest share of `total_bytes` that one thread of one of `clients` clients gets, in whole pages. Units: bytes.
std::uint64_t smallest_share(const model::Architecture& architecture, std::uint64_t total_bytes, int clients);

// The smallest share of the buffer that one thread of one of `clients` clients gets. Units: bytes.
std::uint64_t smallest_arena(const model::Model& model, int clients);

// Whether the extents of `layout` stay the same throughout the job (unless dc_set_shape changes them).
bool is_fixed(const model::Model& model, const model::Layout& layout);

// Warnings "file:line:column: ..." about valid settings.
std::vector<std::string> warnings(const model::Model& model);

}  // namespace damaris::config
