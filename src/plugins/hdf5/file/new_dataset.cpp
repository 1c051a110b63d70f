#include "new_dataset.hpp"

#include <damaris/error.hpp>

#include "handle.hpp"

namespace damaris::hdf5 {
namespace {

Type copy_of(hid_t native) { return Type(H5Tcopy(native), "copy a type"); }

Type character() {
  Type type = copy_of(DAMARIS_HDF5_ID(H5T_C_S1));
  checked(H5Tset_size(type.id(), 1), "make the character type");
  // The default would treat the only byte as a terminator.
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

Properties link_properties() {
  Properties link(H5Pcreate(DAMARIS_HDF5_CLASS(LINK_CREATE)), "make the link's properties");
  checked(H5Pset_create_intermediate_group(link.id(), 1), "set intermediate groups");
  checked(H5Pset_char_encoding(link.id(), H5T_CSET_UTF8), "set the encoding of names");
  return link;
}

Sizes sizes_of(const Box& box) {
  Sizes sizes = {};
  for (int d = 0; d < box.ndims; ++d) sizes[d] = static_cast<hsize_t>(box.extent(d));
  return sizes;
}

Sizes start_of(const Piece& piece, const Box& box) {
  Sizes start = {};
  for (int d = 0; d < box.ndims; ++d) start[d] = static_cast<hsize_t>(box.low[d] - piece.box.low[d]);
  return start;
}

Space space_of(const Box& box) { return Space(H5Screate_simple(box.ndims, sizes_of(box).data(), nullptr), "make a space"); }

// Every element is written, so no fill is needed; the attributes are few: keep them in the object header.
Properties dataset_properties() {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER), "set the fill time");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  return properties;
}

Properties contiguous_properties() {
  Properties properties = dataset_properties();
  checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "ask for early allocation");
  return properties;
}

void set_chunk(const Properties& properties, const Piece& piece, const Extents& extents) {
  const Sizes chunk = sizes_of({piece.box.ndims, {}, extents});
  checked(H5Pset_chunk(properties.id(), piece.box.ndims, chunk.data()), "set the chunk of", piece.path);
}

Dataset create_dataset(hid_t file, const Piece& piece, const Type& type, const Properties& properties, const Properties& links) {
  return Dataset(
      H5Dcreate2(file, piece.path.c_str(), type.id(), space_of(piece.box).id(), links.id(), properties.id(), H5P_DEFAULT),
      "create the dataset", piece.path);
}

void write_box(const Dataset& dataset, const Piece& piece, const Type& type, const Box& box, const void* data) {
  const Space memory = space_of(box), file = space_of(piece.box);
  if (box.ndims > 0)
    checked(H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start_of(piece, box).data(), nullptr, sizes_of(box).data(), nullptr),
            "select a part of", piece.path);
  checked(H5Dwrite(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, data), "write the dataset", piece.path);
}

namespace {

Space scalar() { return Space(H5Screate(H5S_SCALAR), "make a scalar space"); }

Space simple(const std::vector<hsize_t>& extents) {
  return Space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "make a space");
}

void write(hid_t object, const char* name, hid_t type, const Space& space, const void* value) {
  const Attribute attribute(H5Acreate2(object, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), "create the attribute", name);
  const char nothing = 0;  // HDF5 rejects a null pointer even for zero values
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
