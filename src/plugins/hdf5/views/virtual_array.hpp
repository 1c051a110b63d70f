// An array as a virtual dataset over other files, and the dimension scales that name its dimensions for h5py, netCDF and
// xarray.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: global_view.hpp. After it: view_file.hpp; the high-level library of HDF5.
#pragma once

#include <string>
#include <vector>

#include "../file/handle.hpp"
#include "global_view.hpp"

namespace damaris::hdf5 {

// A block of an array, and the dataset with its values. Of the array: where it begins; of the dataset, which may have another number of
// dimensions: its extents, and where the values begin.
struct VirtualBlock {
  std::string file, path;
  std::vector<hsize_t> to, to_count;
  std::vector<hsize_t> extents, from, from_count;
};
using VirtualBlocks = std::vector<VirtualBlock>;

// Creates the dataset at `path` and its parent groups. Elements in no block read as the fill value.
Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, const std::vector<hsize_t>& extents,
                       const VirtualBlocks& blocks);

// Converts a one-dimensional dataset to a scale.
void make_scale(const Dataset& scale, const std::string& name);

// Attaches the scale to dimension `dimension` of the dataset.
void attach_scale(const Dataset& dataset, const Dataset& scale, unsigned dimension);

}  // namespace damaris::hdf5
