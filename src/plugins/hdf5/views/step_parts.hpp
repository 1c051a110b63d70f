// Where the parts of one variable of one step are, in the order in which they count where they overlap.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: a step of the manifest. After it: step_shape.hpp; view_file.hpp maps them. Plain structs, no HDF5.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// A dataset of a variable, its file, and its box in the array, in which stacks of several servers follow each other.
struct PlacedDataset {
  const manifest::FileEntry* file;
  const manifest::DatasetEntry* dataset;
  Box box;
};

// By variable; points into `step`.
std::map<std::string, std::vector<PlacedDataset>> parts_of(const manifest::StepEntry& step);

// The elements of an array, and the dataset in which they are; those of one step do not overlap.
struct Shown {
  const PlacedDataset* part;
  Box box;
};

// If servers share faces, the lower client wins, as within a server.
std::vector<Shown> shown_parts(const std::vector<PlacedDataset>& parts);

}  // namespace damaris::hdf5
