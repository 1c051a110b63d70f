// Attributes of a file or a dataset.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: an open HDF5 object. After it: labels.hpp says which attributes there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "handle.hpp"

namespace damaris::hdf5 {

// Strings are UTF-8 of variable length: h5py gives str, h5dump prints them. Numbers are scalars or lists, as given:
// never tables, for netCDF-C opens no file in which an attribute has two dimensions.
void write_attribute(hid_t object, const char* name, const std::string& value);
void write_attribute(hid_t object, const char* name, std::int32_t value);
void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, double value);
void write_attribute(hid_t object, const char* name, const std::vector<std::int32_t>& values);
void write_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
void write_attribute(hid_t object, const char* name, const std::vector<double>& values);
void write_attribute(hid_t object, const char* name, const std::vector<std::string>& values);

}  // namespace damaris::hdf5
