// A global array as a virtual dataset over the files of all servers.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: global_view.hpp. After it: master_file.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "../file/handle.hpp"
#include "global_view.hpp"

namespace damaris::hdf5 {

// Whether the array of `times` steps has a fill value: not if nothing is missing and the fill value may be one of the values, as readers
// would mask these.
bool has_fill(const GlobalArray& array, std::size_t times);

// Creates the dataset at `path` and its parent groups. Elements in no file read as the fill value, or without one as zero. The first
// dimension is time, of `times` steps; a coordinate has no time and uses only its first step.
Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, std::size_t times);
Dataset create_virtual_coordinate(hid_t file, const std::string& path, const GlobalArray& coordinate);

}  // namespace damaris::hdf5
