// Warnings about suspicious positions of blocks, which lose values or prevent a joined array: once per variable.
// Used by: storage.cpp, on the server's work thread.
// Before it: the blocks of a step. After it: the log, and the warnings of the manifest.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace damaris::hdf5 {

struct PlaceWarning {
  std::string text;
  bool is_new = false;  // false: repeated, because the step is retried
};

class PlaceWarnings {
 public:
  // Reports blocks without a position although the layout has global extents, and blocks hidden by another block with the same box and
  // other values; the file has those of the lower source.
  std::vector<PlaceWarning> of(const dc_step_t& step);

  struct BlockName {
    std::int32_t source = 0, block = 0;
  };
  // Reports a block hidden by a block of another server in a shared file.
  std::vector<PlaceWarning> hidden(const dc_variable_info_t& variable, std::int64_t step, BlockName lost, BlockName shown);

 private:
  enum class What { unplaced, hidden };
  void add(What what, std::uint32_t variable, std::int64_t step, const std::string& text, std::vector<PlaceWarning>& warnings);

  std::map<std::pair<What, std::uint32_t>, std::int64_t> reported_;  // the step of each warning
};

}  // namespace damaris::hdf5
