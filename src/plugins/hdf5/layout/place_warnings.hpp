// What is wrong with the places of a step's blocks: values that its file lacks, because other blocks have their places (rule 11), and blocks
// without a position, which prevent a joined array.
// Used by: storage.cpp, on the server's work thread.
// Before it: the blocks of a step, or what the servers of a shared file have agreed on. After it: the step is partial; the log, and the
// warnings of the manifest.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/box.hpp"

namespace damaris::hdf5 {

struct BlockName {
  std::int32_t source = 0, block = 0;
};

// The elements `common` are those of `shown` in the file, not the different ones of `hidden`.
std::string hidden_text(const dc_variable_info_t& variable, BlockName hidden, BlockName shown, const Box& common);

// A sentence for each variable with such values: of the first two blocks that are joined, share more than a face and differ there.
std::vector<std::string> hidden_values(const dc_step_t& step);

// A sentence for each variable with blocks without a position although its layout has global extents; once a run: `reported` are those
// with a sentence.
std::vector<std::string> unplaced_blocks(const dc_step_t& step, std::set<std::uint32_t>& reported);

}  // namespace damaris::hdf5
