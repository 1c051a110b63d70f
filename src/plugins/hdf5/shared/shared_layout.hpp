// The layout of a shared file, computed identically on all servers from what each offers: the blocks that it contributes to the step, as the
// text of a message. Plain structs, no HDF5, no MPI.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: the step's views, on all servers of the group. After it: box_writer.hpp, which creates the datasets and writes them.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../layout/pieces.hpp"
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

// The part of a block in a dataset after overlaps are resolved: the lower source wins, whatever its server.
struct SharedPart {
  int member = 0;  // of the group, from 0
  std::int32_t source = 0, block = 0;
  Box box;
};

struct SharedDataset {
  std::string path;
  const dc_variable_info_t* variable = nullptr;
  bool joined = false;
  bool has_position = false;
  Box whole;                         // the dataset, which contains parts and holes
  std::vector<std::int64_t> global;  // extents; empty: not known
  std::vector<SharedPart> parts;
  std::vector<Box> holes;  // filled by no block
};

// The part that two blocks have in common, if that is more than a face: the file has the values of `shown`, which may
// equal those of `hidden`. Both have the same box.
struct Overlap {
  const dc_variable_info_t* variable = nullptr;
  SharedPart shown, hidden;
};

struct SharedLayout {
  std::vector<SharedDataset> datasets;                 // by priority, then in the order of the variables
  std::vector<std::int32_t> clients, absent, missing;  // of all members, sorted
  std::int64_t never_attached = 0;                     // clients of all members
  std::optional<double> time;
  std::vector<Overlap> overlaps;
  std::vector<std::string> scattered;  // variables whose blocks have positions too far apart to be joined
};

// `offers`: by member. A variable is joined if every block of every member has a position, unless the array would be almost all holes.
SharedLayout shared_layout_of(const std::vector<Offer>& offers, const dc_host_t& host);

// The boxes that a member writes in a dataset: its parts, joined.
std::vector<Box> boxes_of(const SharedDataset& dataset, int member);
// The block of a part of this member.
const dc_dataset_t& block_of(const dc_variable_info_t& variable, const SharedPart& part, const dc_step_t& step);
// The boxes of a member with the blocks that fill them.
std::vector<Piece> pieces_of(const SharedDataset& dataset, int member, const dc_step_t& step);

}  // namespace damaris::hdf5
