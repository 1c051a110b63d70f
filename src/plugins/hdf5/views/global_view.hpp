// Which variables of a run can be shown as one array over all files and steps, and where each part of them lies.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: the steps of the manifest. After it: master_file.hpp and xdmf.hpp write it down. Plain structs, no HDF5.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

using Steps = std::map<std::int64_t, manifest::StepEntry>;

// The steps in which a variable was stored. Variables with the same ones share an axis.
struct TimeAxis {
  std::vector<std::int64_t> steps;
  std::vector<double> times;  // physical, of each step; empty when one of them has none, or one is not later than that before
};

// A part of a global array that one dataset of one file holds.
struct Mapping {
  std::size_t time = 0;                       // index on the axis
  const manifest::FileEntry* file = nullptr;  // both of the manifest
  const manifest::DatasetEntry* dataset = nullptr;
  Box whole;  // where the dataset's box lies in the array
  Box box;    // what is shown of it; the mappings of one time do not overlap
};

struct GlobalArray {
  const dc_variable_info_t* variable = nullptr;
  std::size_t axis = 0;  // in GlobalView::axes
  Box box;               // that it shows; begins at zero where no part lies below
  std::vector<Mapping> mappings;
  std::optional<double> scale, offset;  // all parts are of 16 bits: value = stored * scale + offset
  std::vector<int> coordinates = {};    // by dimension: index in GlobalView::coordinates, or -1
  // Of stacks: block k of the first dimension, which the variable has not; empty: it is none.
  std::vector<std::int32_t> sources = {}, blocks = {};

  bool is_stack() const { return !sources.empty(); }
};

struct NotShown {
  std::string variable;
  std::string why;                  // a clause: "a block has no position"
  bool because_of_16_bits = false;  // of what the XML asks for, not of how the simulation writes
};

struct GlobalView {
  std::vector<TimeAxis> axes;  // the one of the most variables first
  std::vector<GlobalArray> arrays;
  std::vector<GlobalArray> coordinates;  // lists that label dimensions of arrays, without time: as they were stored first
  std::vector<NotShown> not_shown;
};

// The view points into `steps` and at the host's variables. Steps of which a server has not reported yet are shown as far as
// they are known: what is missing has no mapping.
GlobalView global_view(const Steps& steps, const dc_host_t& host);

}  // namespace damaris::hdf5
