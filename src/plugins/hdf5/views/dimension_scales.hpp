// The dimension scales that name the dimensions of a file's datasets for h5py, netCDF and xarray.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: virtual_array.hpp. After it: master_file.hpp; the high-level library of HDF5.
#pragma once

#include <hdf5.h>

#include <map>
#include <string>
#include <vector>

#include "../file/handle.hpp"

namespace damaris::hdf5 {

// Converts a one-dimensional dataset to a scale.
void make_scale(const Dataset& scale, const std::string& name);

// Does what H5DSattach_scale does, which rewrites a scale's whole list of datasets for each new one.
class ScaleLinks {
 public:
  // Scale k labels dimension k of the dataset. The scales stay open until finish().
  void attach(const Dataset& dataset, const std::vector<hid_t>& scales);
  // Lists in each scale what it labels.
  void finish() const;

 private:
  struct Use {
    hobj_ref_t dataset;
    unsigned dimension;
  };
  std::map<hid_t, std::vector<Use>> uses_;  // by scale
};

}  // namespace damaris::hdf5
