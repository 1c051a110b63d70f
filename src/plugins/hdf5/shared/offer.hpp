// The blocks that one server contributes to a step of a shared file, as the text of a message.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the step's views. After it: shared_layout.hpp, which joins the offers of all servers.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

struct OfferedBlock {
  std::int32_t source = 0, block = 0;
  bool has_position = false;
  Box box;  // the interior: at its position, or at zero
};

struct OfferedVariable {
  std::uint32_t id = 0;
  std::vector<std::int64_t> global;  // extents; empty: unknown
  std::vector<OfferedBlock> blocks;
};

struct Offer {
  std::vector<std::int32_t> clients, absent, missing;
  std::int64_t never_attached = 0;  // clients
  std::optional<double> time;
  std::vector<OfferedVariable> variables;
};

// `step` may be nullptr: all clients are absent.
Offer offer_of(const dc_host_t& host, const dc_step_t* step);

// Compact: variables whose blocks have the same boxes share one list.
std::string to_text(const Offer& offer);
// Throws damaris::Error(DC_E_INTERNAL) for a message of another version. Takes the dimensions from the variables of `host`.
Offer offer_from(const std::string& text, const dc_host_t& host);

}  // namespace damaris::hdf5
