// The filters of filters="...": whether this HDF5 has them, and how a dataset gets them.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: settings.hpp. After it: dataset_writer.hpp.
#pragma once

#include <vector>

#include "../attributes/values.hpp"
#include "../file/handle.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) when this HDF5 lacks one.
void check_available(const std::vector<Filter>& filters);

void add_filters(const Properties& dataset, const std::vector<Filter>& filters);

}  // namespace damaris::hdf5
