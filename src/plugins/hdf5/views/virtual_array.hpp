// A global array as a virtual dataset over the files of all servers, and the dimension scales by which h5py, netCDF and xarray know its dimensions.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: global_view.hpp. After it: master_file.hpp; the high-level library of HDF5.
#pragma once

#include <string>

#include "../file/handle.hpp"
#include "global_view.hpp"

namespace damaris::hdf5 {

// Creates it at `path`, with the groups above it; what no file holds reads as NaN, or as 0 where there is no NaN. Its first dimension
// is time, of `times` steps; a coordinate has none and only its first step.
Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, std::size_t times);
Dataset create_virtual_coordinate(hid_t file, const std::string& path, const GlobalArray& coordinate);

// Makes a dataset of one dimension a scale.
void make_scale(const Dataset& scale, const std::string& name);

// Names dimension `dimension` of the dataset by the scale.
void attach_scale(const Dataset& dataset, const Dataset& scale, unsigned dimension);

}  // namespace damaris::hdf5
