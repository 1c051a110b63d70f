// Finds the stored datasets that hold a requested block, and detects missing elements: boxes of the manifest, no HDF5.
// Used by: restart on the server's work thread.
// Before it: a step of the manifest, and the request. After it: restart_reader.hpp reads each part.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

// A part of the requested block: a box of one dataset, in the common coordinates.
struct StoredPart {
  const FileEntry* file = nullptr;
  const DatasetEntry* dataset = nullptr;
  Box box;
};

// `parts` fill `frame`, the requested interior, without overlap; where two files overlap, the lower client wins (put_in_order). The
// frame is in the coordinates of the global array; for a block found by its source, in those of the dataset; for a block of a
// stack, it is its layer, with one more dimension.
struct FoundParts {
  Box frame;
  std::vector<StoredPart> parts;
};

// The result points into `step`.
// Throws damaris::Error: DC_E_NOT_STORED naming what is missing and why, DC_E_SHAPE if the shape differs. The caller adds the
// place.
FoundParts find_parts(const StepEntry& step, const dc_read_t& read);

}  // namespace damaris::manifest
