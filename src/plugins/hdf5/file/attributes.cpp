#include "attributes.hpp"

#include "library.hpp"

namespace damaris::hdf5 {
namespace {

Space scalar() { return Space(H5Screate(H5S_SCALAR), "make a scalar space"); }

Space simple(const std::vector<hsize_t>& extents) {
  return Space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "make a space");
}

void write(hid_t object, const char* name, hid_t type, const Space& space, const void* value) {
  const Attribute attribute(H5Acreate2(object, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), "create the attribute", name);
  const char nothing = 0;  // HDF5 refuses a null pointer, also for no values
  checked(H5Awrite(attribute.id(), type, value == nullptr ? &nothing : value), "write the attribute", name);
}

Type text_type() {
  Type type(H5Tcopy(DAMARIS_HDF5_ID(H5T_C_S1)), "copy a type");
  checked(H5Tset_size(type.id(), H5T_VARIABLE), "make the text type");
  checked(H5Tset_cset(type.id(), H5T_CSET_UTF8), "make the text type");
  return type;
}

}  // namespace

void write_attribute(hid_t object, const char* name, const std::string& value) {
  const char* text = value.c_str();
  write(object, name, text_type().id(), scalar(), &text);
}

void write_attribute(hid_t object, const char* name, std::int32_t value) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT32), scalar(), &value);
}

void write_attribute(hid_t object, const char* name, std::int64_t value) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT64), scalar(), &value);
}

void write_attribute(hid_t object, const char* name, double value) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_DOUBLE), scalar(), &value);
}

void write_attribute(hid_t object, const char* name, const std::vector<std::int32_t>& values) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT32), simple({values.size()}), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT64), simple({values.size()}), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<double>& values) {
  write(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_DOUBLE), simple({values.size()}), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  write(object, name, text_type().id(), simple({texts.size()}), texts.data());
}

}  // namespace damaris::hdf5
