#include "new_dataset.hpp"

#include <damaris/version.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "codec/encoder.hpp"
#include "core/base/clock.hpp"
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

Space space_of(const Box& box) { return Space(H5Screate_simple(box.ndims, sizes_of(box).data(), nullptr), "make a space"); }

Space simple_space(const std::vector<hsize_t>& extents) {
  return Space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "make a space");
}

Sizes start_of(const Box& whole, const Box& part) {
  Sizes start = {};
  for (int d = 0; d < part.ndims; ++d) start[d] = static_cast<hsize_t>(part.low[d] - whole.low[d]);
  return start;
}

void select(const Space& space, const Box& whole, const Box& part) {
  if (part.ndims == 0) return;
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start_of(whole, part).data(), nullptr, sizes_of(part).data(), nullptr),
          "select a part");
}

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
  select(file, piece.box, box);
  checked(H5Dwrite(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, data), "write the dataset", piece.path);
}

namespace {

Space scalar() { return Space(H5Screate(H5S_SCALAR), "make a scalar space"); }

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

void write_list(hid_t object, const char* name, hid_t type, std::size_t count, const void* values) {
  write(object, name, type, simple_space({count}), values);
}

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
  write_list(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT32), values.size(), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  write_list(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_INT64), values.size(), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<double>& values) {
  write_list(object, name, DAMARIS_HDF5_ID(H5T_NATIVE_DOUBLE), values.size(), values.data());
}

void write_attribute(hid_t object, const char* name, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  write_list(object, name, text_type().id(), texts.size(), texts.data());
}

void check_available(const std::vector<Filter>& filters) {
  for (const Filter& filter : filters)
    if (H5Zfilter_avail(filter.kind == Filter::shuffle ? H5Z_FILTER_SHUFFLE : H5Z_FILTER_DEFLATE) <= 0)
      throw Error(DC_E_CONFIG, std::string("filters=\"...\": the HDF5 library of this plugin was built without ") +
                                   (filter.kind == Filter::shuffle ? "shuffle" : "deflate") + "; remove it");
}

void set_filters(const Properties& dataset, const dc_reduction_t& reduction, const std::vector<Filter>& filters, bool compressed) {
  const auto shuffle = [&] { checked(H5Pset_shuffle(dataset.id()), "set the shuffle filter"); };
  const auto deflate = [&](unsigned level) { checked(H5Pset_deflate(dataset.id(), level), "set the deflate filter"); };
  if (!compressed && reduction.codec == DC_CODEC_NONE)
    for (const Filter& filter : filters) filter.kind == Filter::shuffle ? shuffle() : deflate(filter.level);
  if (!compressed) return;
  shuffle();
  const auto level = static_cast<unsigned>(reduction.level);
  if (reduction.codec == DC_CODEC_DEFLATE) return deflate(std::min(level, 9U));
  // Optional: this HDF5 need not have the filter, as it never runs it.
  checked(H5Pset_filter(dataset.id(), codec::kZstdFilter, H5Z_FLAG_OPTIONAL, 1, &level), "set the zstd filter");
}

namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Writes netCDF's default fill value of the type. Returns its size.
std::size_t put_fill(std::byte* at, dc_type type) {
  switch (type) {
    case DC_INT8:
      return put<std::int8_t>(at, -127), 1;
    case DC_INT16:
      return put<std::int16_t>(at, -32767), 2;
    case DC_INT32:
      return put<std::int32_t>(at, -2147483647), 4;
    case DC_INT64:
      return put<std::int64_t>(at, -9223372036854775806), 8;
    case DC_UINT8:
      return put<std::uint8_t>(at, 255), 1;
    case DC_UINT16:
      return put<std::uint16_t>(at, 65535), 2;
    case DC_UINT32:
      return put<std::uint32_t>(at, 4294967295), 4;
    case DC_UINT64:
      return put<std::uint64_t>(at, 18446744073709551614U), 8;
    case DC_FLOAT32:
      return put(at, std::numeric_limits<float>::quiet_NaN()), 4;
    case DC_FLOAT64:
      return put(at, std::numeric_limits<double>::quiet_NaN()), 8;
    case DC_CHAR:
    case DC_ANY:
    case DC_COMPOUND:
      break;
  }
  return 1;
}

bool may_be_masked(dc_type type) {
  switch (type) {
    case DC_FLOAT32:
    case DC_FLOAT64:
    case DC_INT16:
    case DC_UINT16:
    case DC_INT32:
    case DC_UINT32:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::byte> fill_of(const dc_variable_info_t& variable) {
  std::vector<std::byte> element(variable.element_bytes, std::byte{0});
  if (variable.type != DC_COMPOUND) {
    put_fill(element.data(), variable.type);
    return element;
  }
  for (int i = 0; i < variable.field_count; ++i) {
    const dc_field_t& field = variable.fields[i];
    std::size_t at = field.offset_bytes;
    for (auto left = field.count; left > 0; --left) at += put_fill(element.data() + at, field.type);
  }
  return element;
}

void set_fill(const Properties& properties, const dc_variable_info_t& variable) {
  constexpr std::uint64_t kMostBytes = 65'000;  // the header of a dataset has no room for a larger one
  if (variable.element_bytes > kMostBytes) return;
  checked(H5Pset_fill_value(properties.id(), type_of(variable).id(), fill_of(variable).data()), "set the fill value");
}

void label_fill(hid_t dataset, const dc_variable_info_t& variable) {
  if (!may_be_masked(variable.type)) return;
  write_list(dataset, "_FillValue", type_of(variable).id(), 1, fill_of(variable).data());
}

void label_text(hid_t object, const char* name, const char* text) {
  if (text != nullptr && *text != '\0') write_attribute(object, name, std::string(text));
}

namespace {

using Numbers = std::vector<std::int64_t>;

// Of part k: source and block (element k of two lists); of a joined dataset also the position in the global array and the extents, elements
// from k * ndims on of two others, which are one-dimensional because netCDF-C requires that of attributes.
void label_parts(hid_t dataset, const Piece& piece) {
  std::vector<std::int32_t> sources, blocks;
  Numbers positions, extents;
  for (const Part& part : piece.parts) {
    sources.push_back(part.block->source);
    blocks.push_back(part.block->block);
    for (int d = 0; d < piece.box.ndims; ++d) positions.push_back(part.box.low[d]), extents.push_back(part.box.extent(d));
  }
  write_attribute(dataset, "sources", sources);
  write_attribute(dataset, "blocks", blocks);
  if (piece.stacked) return write_attribute(dataset, "stacked", std::int32_t{1});
  write_attribute(dataset, "part_positions", positions);
  write_attribute(dataset, "part_extents", extents);
}

void label_place(hid_t dataset, const Piece& piece) {
  const int ndims = piece.variable->ndims;
  const std::int64_t* low = piece.box.low.data();
  const std::int64_t* global = piece.parts.front().block->global;
  if (piece.has_position) write_attribute(dataset, "position", Numbers(low, low + ndims));
  if (piece.variable->has_global != 0) write_attribute(dataset, "global_extents", Numbers(global, global + ndims));
}

// The effects of back-pressure on this file, if there were any.
void label_back_pressure(hid_t file, const dc_host_t& host, const dc_step_t& step) {
  std::vector<std::string> variables;
  for (std::size_t i = 0; i < step.skipped_count; ++i) variables.emplace_back(host.variables[step.skipped[i]].path);
  if (!variables.empty()) write_attribute(file, step.dropped != 0 ? "dropped_variables" : "skipped_variables", variables);
  if (step.reduced != 0) write_attribute(file, "reduced_on_full", std::int32_t{1});
}

}  // namespace

std::optional<double> time_of(const dc_step_t& step) {
  return step.has_time != 0 ? std::optional<double>(step.time) : std::nullopt;
}

void label_step(hid_t object, std::int64_t step, const std::optional<double>& time) {
  write_attribute(object, "iteration", step);
  if (time) write_attribute(object, "time", *time);
}

void label_writer(hid_t file, const dc_host_t& host) {
  write_attribute(file, "format", std::string("damaris-hdf5"));
  write_attribute(file, "format_version", kFormatVersion);
  write_attribute(file, "damaris_version", std::string(DAMARIS_VERSION));
  write_attribute(file, "simulation", std::string(host.simulation));
  write_attribute(file, "created", utc_now());
  write_attribute(file, "host", std::string(host.host_name));
  write_attribute(file, "server", host.server_index);
  write_attribute(file, "servers", host.server_count);
}

void label_file(hid_t file, const dc_host_t& host, const dc_step_t& step) {
  label_writer(file, host);
  label_step(file, step.step, time_of(step));
  write_attribute(file, "clients", std::vector<std::int32_t>(host.clients, host.clients + host.client_count));
  write_attribute(file, "absent_clients", std::vector<std::int32_t>(step.absent, step.absent + step.absent_count));
  write_attribute(file, "missing_clients", std::vector<std::int32_t>(step.missing, step.missing + step.missing_count));
  write_attribute(file, "never_attached", static_cast<std::int64_t>(step.never_attached));
  label_back_pressure(file, host, step);
}

void label_variable(hid_t dataset, const dc_variable_info_t& variable) {
  label_text(dataset, "units", variable.unit);
  label_text(dataset, "long_name", variable.description);
  label_text(dataset, "layout", variable.layout);
}

void label_dataset(const Dataset& dataset, const Piece& piece, std::int64_t step, const std::optional<double>& time,
                   bool has_holes) {
  const dc_variable_info_t& variable = *piece.variable;
  const dc_dataset_t& first = *piece.parts.front().block;
  label_variable(dataset.id(), variable);
  label_step(dataset.id(), step, time);
  label_place(dataset.id(), piece);
  if (has_holes) label_fill(dataset.id(), variable);
  if (piece.joined || piece.stacked) return label_parts(dataset.id(), piece);
  write_attribute(dataset.id(), "source", first.source);
  write_attribute(dataset.id(), "block", first.block);
}

}  // namespace damaris::hdf5
