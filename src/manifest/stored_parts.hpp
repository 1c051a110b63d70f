// Which stored datasets hold what a client wants back, and what of it nobody holds: boxes of the manifest, no HDF5.
// Used by: restart on the server's dispatch thread.
// Before it: a step of the manifest, and the question. After it: dataset_reader.hpp reads each part.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

// A part of what is wanted: a box of one dataset, in the coordinates of both.
struct StoredPart {
  const FileEntry* file = nullptr;
  const DatasetEntry* dataset = nullptr;
  Box box;
};

// `parts` fill `frame`, the interior that is wanted, without overlap: of what two files hold, that of the lower client is taken (put_in_order). The frame lies
// in the global array; of a block that is found by its source, where the dataset lies; of one in a stack, its layer, of one dimension more.
struct FoundParts {
  Box frame;
  std::vector<StoredPart> parts;
};

// What is found points into `step`.
// Throws damaris::Error: DC_E_NOT_STORED naming what is missing and why, DC_E_SHAPE for another shape. The caller adds the place.
FoundParts find_parts(const StepEntry& step, const dc_read_t& read);

// " (3,0) to (5,7)": zero-based first and last element of each dimension, slowest first.
std::string text_of(const Box& box);

}  // namespace damaris::manifest
