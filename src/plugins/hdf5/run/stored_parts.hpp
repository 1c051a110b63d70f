// Which stored datasets hold what a client wants back, and what of it nobody holds: boxes of the record, no HDF5.
// Used by: restart on the server's dispatch thread.
// Before it: a step of the commit record, and the question. After it: dataset_reader.hpp reads each part.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "record.hpp"

namespace damaris::hdf5 {

// A part of what is wanted: a box of one dataset, in the coordinates of both.
struct StoredPart {
  const StoredFile* file = nullptr;
  const StoredDataset* dataset = nullptr;
  Box box;
};

// The interior that is wanted: at its position, or at zero if it has none.
Box wanted_box(const dc_read_t& read);

// Parts that together are the wanted box without overlap: of what two files hold, the first one's is taken. They point into `step`.
// Throws damaris::Error: DC_E_NOT_STORED naming what is missing and why, DC_E_SHAPE for another shape. The caller adds the place.
std::vector<StoredPart> find_parts(const StepRecord& step, const dc_read_t& read);

// " (3,0) to (5,7)": zero-based first and last element of each dimension, slowest first.
std::string text_of(const Box& box);

}  // namespace damaris::hdf5
