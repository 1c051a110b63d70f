// Warnings about blocks without a position, which prevent a joined array: once per variable.
// Used by: storage.cpp, on the server's work thread.
// Before it: the blocks of a step. After it: the log, and the warnings of the manifest.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace damaris::hdf5 {

struct PlaceWarning {
  std::string text;
  bool is_new = false;  // false: repeated, because the step is retried
};

class PlaceWarnings {
 public:
  // Reports blocks without a position although the layout has global extents.
  std::vector<PlaceWarning> of(const dc_step_t& step);

 private:
  std::map<std::uint32_t, std::int64_t> reported_;  // by variable: the step of the warning
};

}  // namespace damaris::hdf5
