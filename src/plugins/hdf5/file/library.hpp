// The identifiers that HDF5 keeps in variables (H5T_NATIVE_INT and its like), found wherever the process has them.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the dynamic linker. After it: types.cpp, attributes.cpp, and what makes property lists.
#pragma once

#include <hdf5.h>

namespace damaris::hdf5 {

// A program that links the same libhdf5 may have copied its variables into itself (a copy relocation): the library then sets the
// program's, while this plugin, in a symbol scope of its own, sees the library's, which stay unset. Takes the one that is set.
hid_t library_id(const hid_t& seen, const char* name);

}  // namespace damaris::hdf5

// DAMARIS_HDF5_ID(H5T_NATIVE_INT) instead of H5T_NATIVE_INT.
#define DAMARIS_HDF5_ID(name) damaris::hdf5::library_id(name##_g, #name "_g")
// DAMARIS_HDF5_CLASS(FILE_ACCESS) instead of H5P_FILE_ACCESS.
#define DAMARIS_HDF5_CLASS(name) DAMARIS_HDF5_ID(H5P_CLS_##name##_ID)
