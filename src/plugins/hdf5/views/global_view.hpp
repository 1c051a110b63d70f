// Determines which variables of a run can be shown as one array over all files and steps, and where their parts are.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: the steps of the manifest. After it: master_file.hpp and xdmf.hpp, which write it. Plain structs, no HDF5.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// Whether the parts of a variable have a common type, scale and offset, as a single array requires. A part without elements has no constraints, one without finite values fits any scale and offset, and one of zeros any scale.
class CommonScaling {
 public:
  // Both belong to the manifest, which must outlive this object.
  void add(const manifest::FileEntry& file, const manifest::DatasetEntry& dataset);

  // A clause with the reason why there is no common scaling; "" if there is one.
  const std::string& obstacle() const { return obstacle_; }
  // The common values; none if the parts are not of 16 bits.
  std::optional<double> scale() const { return part_ == nullptr ? std::nullopt : part_->scale; }
  std::optional<double> offset() const { return part_ == nullptr ? std::nullopt : part_->offset; }

 private:
  const manifest::FileEntry* file_ = nullptr;
  const manifest::DatasetEntry* part_ = nullptr;  // the most restrictive one
  std::string obstacle_;
};

using Steps = std::map<std::int64_t, manifest::StepEntry>;

// The steps in which a variable was stored. Variables with the same steps share an axis.
struct TimeAxis {
  std::vector<std::int64_t> steps;
  std::vector<double> times;  // physical, by step; empty if a step has none, or they are not strictly increasing
};

// The part of a global array in one dataset.
struct Mapping {
  std::size_t time = 0;                       // index on the axis
  const manifest::FileEntry* file = nullptr;  // both belong to the manifest
  const manifest::DatasetEntry* dataset = nullptr;
  Box whole;  // the dataset's box in the array
  Box box;    // the part shown; mappings of the same time do not overlap
};

struct GlobalArray {
  const dc_variable_info_t* variable = nullptr;
  std::size_t axis = 0;  // in GlobalView::axes
  Box box;               // shown; begins at zero unless a part lies below
  std::vector<Mapping> mappings;
  std::optional<double> scale, offset;  // if all parts have 16 bits: value = stored * scale + offset
  std::vector<int> coordinates = {};    // by dimension: index in GlobalView::coordinates, or -1
  // Of a stack: source and block of layer k of its additional first dimension; empty: no stack.
  std::vector<std::int32_t> sources = {}, blocks = {};

  bool is_stack() const { return !sources.empty(); }
};

struct NotShown {
  std::string variable;
  std::string why;                  // a clause such as "a block has no position"
  bool because_of_16_bits = false;  // due to the XML, not to how the simulation writes
};

struct GlobalView {
  std::vector<TimeAxis> axes;  // the one with the most variables first
  std::vector<GlobalArray> arrays;
  std::vector<GlobalArray> coordinates;  // lists that label dimensions of arrays, without time: as first stored
  std::vector<NotShown> not_shown;
};

// The view points into `steps` and to the host's variables. Steps that a server has not reported yet are shown as far as they are known;
// missing parts have no mapping.
GlobalView global_view(const Steps& steps, const dc_host_t& host);

}  // namespace damaris::hdf5
