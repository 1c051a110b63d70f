// A global array as a virtual dataset over the files of all servers.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the record.
// Before it: global_view.hpp. After it: master_file.hpp gives it its dimensions.
#pragma once

#include "../handle.hpp"
#include "global_view.hpp"

namespace damaris::hdf5 {

// Extents with time in front.
std::vector<hsize_t> extents_of(const GlobalArray& array, std::size_t times);

// Creates it at the variable's path, with the groups above it; what no file holds reads as NaN, or as 0 where there is no NaN.
Dataset create_virtual(hid_t file, const GlobalArray& array, std::size_t times);

}  // namespace damaris::hdf5
