// Dimension scales of HDF5: what h5py, netCDF and xarray know the dimensions of a dataset by.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: master_file.hpp made the datasets. After it: the high-level library of HDF5.
#pragma once

#include <string>

#include "../file/handle.hpp"

namespace damaris::hdf5 {

// Makes a dataset of one dimension a scale.
void make_scale(const Dataset& scale, const std::string& name);

// Names dimension `dimension` of the dataset by the scale.
void attach_scale(const Dataset& dataset, const Dataset& scale, unsigned dimension);

}  // namespace damaris::hdf5
