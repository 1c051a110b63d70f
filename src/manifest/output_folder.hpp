// Looks at the output folder at start-up: can files be made there, and what is left of an earlier run?
// Used by: the hdf5 plugin's init, on the server's dispatch thread.
// Before it: file_names.hpp. After it: storage.hpp.
#pragma once

#include <string>
#include <vector>

#include "file_names.hpp"

namespace damaris::manifest {

// Makes a file, writes to it and removes it: permission bits would not tell the truth to root, on read-only file systems, or with
// a quota. Throws damaris::Error(DC_E_NO_OUTPUT) with cause and remedy.
void check_can_write(const FileNames& names);

// Removes the temporary files that this server left on this host when it was killed. Returns how many.
int remove_leftovers(const FileNames& names);

// Names (without folder) of this server's files from an earlier run, sorted.
std::vector<std::string> files_of_earlier_run(const FileNames& names);

}  // namespace damaris::manifest
