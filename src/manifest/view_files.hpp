// How many files a read of the views opens: HDF5 keeps each open until the array is closed, and reads what it cannot open as fill.
// Used by: `damaris verify --views`, one thread.
// Before it: the iterations of the manifest. After it: the comparison with the limit of open files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

struct ViewFiles {
  std::string variable;
  std::uint64_t iterations = 0;        // in which it was stored
  std::uint64_t all = 0;               // of all of them: what a read of the whole array opens
  std::uint64_t of_one_iteration = 0;  // the most
};

// By the name of the variable.
std::vector<ViewFiles> files_of_views(const std::map<std::int64_t, StepEntry>& steps);

}  // namespace damaris::manifest
