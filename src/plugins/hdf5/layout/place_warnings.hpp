// What is odd about the places of a step's blocks, and costs values or the joined array: said once a variable.
// Used by: storage.cpp, on the server's dispatch thread.
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
  bool is_new = false;  // else it is of a step that is tried again
};

class PlaceWarnings {
 public:
  // Blocks without a position although the layout has global extents, and blocks that are hidden by another one of the same place with
  // other values: of these the file has those of the lower source.
  std::vector<PlaceWarning> of(const dc_step_t& step);

  struct BlockName {
    std::int32_t source = 0, block = 0;
  };
  // Of a block that is hidden by one of another server in a file of both.
  std::vector<PlaceWarning> hidden(const dc_variable_info_t& variable, std::int64_t step, BlockName lost, BlockName shown);

 private:
  enum class What { unplaced, hidden };
  void add(What what, std::uint32_t variable, std::int64_t step, const std::string& text, std::vector<PlaceWarning>& warnings);

  std::map<std::pair<What, std::uint32_t>, std::int64_t> said_;  // by variable: in which step
};

}  // namespace damaris::hdf5
