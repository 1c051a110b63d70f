// What a file of several servers holds: the same on all of them, from nothing but their offers. Plain structs, no HDF5, no MPI.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the offers of all servers of the group. After it: dataset_creator.hpp makes the datasets, box_writer.hpp fills them.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../layout/pieces.hpp"
#include "offer.hpp"

namespace damaris::hdf5 {

// What one block gives to a dataset, after overlaps: the lower source wins, on whatever server it is.
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
  Box whole;                         // the dataset; parts and holes lie inside
  std::vector<std::int64_t> global;  // extents; empty: not known
  std::vector<SharedPart> parts;
  std::vector<Box> holes;  // that no block fills
};

// Two blocks of different members at one place: the file has the values of the first, which may be those of the other as well.
struct Contest {
  const dc_variable_info_t* variable = nullptr;
  SharedPart shown, hidden;
};

struct SharedLayout {
  std::vector<SharedDataset> datasets;                 // by priority, then in the order of the variables
  std::vector<std::int32_t> clients, absent, missing;  // of all members, sorted
  std::int64_t never_attached = 0;                     // clients of all members
  std::optional<double> time;
  std::vector<Contest> contests;
  std::vector<std::string> scattered;  // variables whose blocks have positions too far apart to be joined
};

// `offers` by member. A variable is joined when every block of every member has a position, unless nearly all of the array were holes.
SharedLayout shared_layout_of(const std::vector<Offer>& offers, const dc_host_t& host);

// The boxes that a member writes of a dataset: its parts, joined.
std::vector<Box> boxes_of(const SharedDataset& dataset, int member);
// A block of this member.
const dc_dataset_t& block_of(const dc_variable_info_t& variable, const SharedPart& part, const dc_step_t& step);
// The same with the blocks that fill them.
std::vector<Piece> pieces_of(const SharedDataset& dataset, int member, const dc_step_t& step);

}  // namespace damaris::hdf5
