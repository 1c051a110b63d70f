// Determines which variables of a run, or of some of its steps, can be shown as one array, and how large it is.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: step_shape.hpp. After it: view_file.hpp and xdmf.hpp, which write it. Plain structs, no HDF5.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "step_shape.hpp"

namespace damaris::hdf5 {

// The steps in which a variable was stored. Variables with the same steps share an axis.
struct TimeAxis {
  std::vector<std::int64_t> steps;
  std::vector<double> times;  // physical, by step; empty if a step has none, or they are not strictly increasing
};

struct GlobalArray {
  const dc_variable_info_t* variable = nullptr;
  std::size_t axis = 0;                   // in GlobalView::axes
  Box box;                                // shown; begins at zero unless a part lies below
  std::vector<const StoredArray*> steps;  // along the axis: what each step has of it, as one
  std::optional<double> scale, offset;    // if all parts have 16 bits: value = stored * scale + offset
  std::vector<int> coordinates = {};      // by dimension: index in GlobalView::coordinates, or -1
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

// The elements that an array of these steps shows. Steps without elements do not matter, unless all are.
Box box_around(const std::vector<const StoredArray*>& steps);

// The view points into `steps` and to the host's variables. Steps that a server has not reported yet are shown as far as they are known.
// `labelled`: lists that are coordinates of others become their labels.
GlobalView global_view(const StepShapes& steps, const dc_host_t& host, bool labelled = true);

}  // namespace damaris::hdf5
