// Opens what a manifest says is a file of Damaris, which somebody else may have made: nothing in it leads to another file.
// Used by: `damaris verify`, one thread; restart on the server's dispatch thread.
// Before it: the manifest of a run. After it: the values.
#pragma once

#include <string>

#include "../file/handle.hpp"

namespace damaris::hdf5 {

// For reading, without HDF5's lock: any user who may read the file could hold that. Throws Failure, for a named pipe too.
File open_stored(const std::string& path);

// A dataset whose values are in the file itself. Throws Failure for one behind an external link, in external storage, or put together from
// other files: HDF5 would follow to any file of this user, and wait at a named pipe. Nor for one that layout_of refuses: what it costs to
// read has a bound.
Dataset open_dataset(const File& file, const std::string& path);

}  // namespace damaris::hdf5
