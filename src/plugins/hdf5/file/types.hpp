// The HDF5 type of a variable's elements.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: what the XML says of the variable. After it: dataset_writer.hpp.
#pragma once

#include <damaris/plugin.h>

#include "handle.hpp"

namespace damaris::hdf5 {

// In memory and in the file alike: nothing is converted. Characters become strings of one byte; a compound keeps its offsets, and
// its array members become HDF5 arrays.
Type type_of(const dc_variable_info_t& variable);

// IEEE 754 binary16, little-endian: a type of one's own in HDF5, which converts it for any reader.
Type half_type();

}  // namespace damaris::hdf5
