#include "types.hpp"

#include <damaris/error.hpp>

#include "library.hpp"

namespace damaris::hdf5 {
namespace {

Type copy_of(hid_t native) { return Type(H5Tcopy(native), "copy a type"); }

Type character() {
  Type type = copy_of(DAMARIS_HDF5_ID(H5T_C_S1));
  checked(H5Tset_size(type.id(), 1), "make the character type");
  // The default would read the only byte as a terminator.
  checked(H5Tset_strpad(type.id(), H5T_STR_NULLPAD), "make the character type");
  return type;
}

Type basic_type(dc_type type) {
  switch (type) {
    case DC_INT8:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_INT8));
    case DC_INT16:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_INT16));
    case DC_INT32:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_INT32));
    case DC_INT64:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_INT64));
    case DC_UINT8:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_UINT8));
    case DC_UINT16:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_UINT16));
    case DC_UINT32:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_UINT32));
    case DC_UINT64:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_UINT64));
    case DC_FLOAT32:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_FLOAT));
    case DC_FLOAT64:
      return copy_of(DAMARIS_HDF5_ID(H5T_NATIVE_DOUBLE));
    case DC_CHAR:
      return character();
    case DC_ANY:
    case DC_COMPOUND:
      break;
  }
  throw Error(DC_E_INTERNAL, "the hdf5 plugin was given the element type " + std::to_string(type) + ", which it does not know");
}

Type field_type(const dc_field_t& field) {
  Type one = basic_type(field.type);
  if (field.count == 1) return one;
  const auto count = static_cast<hsize_t>(field.count);
  return Type(H5Tarray_create2(one.id(), 1, &count), "make the array type of the member", field.name);
}

}  // namespace

Type type_of(const dc_variable_info_t& variable) {
  if (variable.type != DC_COMPOUND) return basic_type(variable.type);
  Type compound(H5Tcreate(H5T_COMPOUND, variable.element_bytes), "make the compound type", variable.type_name);
  for (int i = 0; i < variable.field_count; ++i) {
    const dc_field_t& field = variable.fields[i];
    checked(H5Tinsert(compound.id(), field.name, field.offset_bytes, field_type(field).id()), "add the member", field.name);
  }
  return compound;
}

Type half_type() {
  Type type = copy_of(DAMARIS_HDF5_ID(H5T_IEEE_F32LE));
  checked(H5Tset_fields(type.id(), 15, 10, 5, 0, 10), "make the 16-bit type");
  checked(H5Tset_size(type.id(), 2), "make the 16-bit type");
  checked(H5Tset_ebias(type.id(), 15), "make the 16-bit type");
  return type;
}

}  // namespace damaris::hdf5
