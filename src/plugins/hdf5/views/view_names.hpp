// Names for what a master file has besides the variables, none of them a variable's: time axes, axes of iterations, dimensions.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: global_view.hpp. After it: master_file.hpp. Plain strings, no HDF5.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "global_view.hpp"

namespace damaris::hdf5 {

// The names are the same in every group, so that a group can be read alone and together with others.
class ViewNames {
 public:
  ViewNames(const GlobalView& view, const dc_host_t& host);

  const std::string& time(std::size_t axis) const { return times_[axis]; }            // "time", "time_1", ...
  const std::string& iteration(std::size_t axis) const { return iterations_[axis]; }  // beside each of them
  // The dimension that a coordinate labels: its variable's name without groups.
  const std::string& coordinate(std::size_t coordinate) const { return coordinates_[coordinate]; }
  // Of the array's dimensions without time, slowest first: <layout>_z, _y, _x, or <layout>_0, ... beyond three. Arrays of the
  // same extents and place share them, those of one dimension only within a layout. Of a stack
  // <layout>_block, then those of the layout.
  const std::vector<std::string>& dimensions(std::size_t array) const { return dimensions_[array]; }

 private:
  std::string free(std::string wanted);
  const std::vector<std::string>& dimensions_of(const GlobalArray& array);

  std::set<std::string> taken_;
  std::vector<std::string> times_, iterations_, coordinates_;
  std::vector<std::vector<std::string>> dimensions_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<std::string>> known_;
  std::map<std::string, std::size_t> shapes_;  // layout -> how many of its shapes have names
};

}  // namespace damaris::hdf5
