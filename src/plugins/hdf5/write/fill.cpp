#include "fill.hpp"

#include <damaris/error.hpp>

#include <cstdint>
#include <cstring>
#include <limits>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"

namespace damaris::hdf5 {
void check_available(const std::vector<Filter>& filters) {
  for (const Filter& filter : filters)
    if (H5Zfilter_avail(filter.kind == Filter::shuffle ? H5Z_FILTER_SHUFFLE : H5Z_FILTER_DEFLATE) <= 0)
      throw Error(DC_E_CONFIG, std::string("filters=\"...\": the HDF5 library of this plugin was built without ") +
                                   (filter.kind == Filter::shuffle ? "shuffle" : "deflate") + "; remove it");
}

void add_filters(const Properties& dataset, const std::vector<Filter>& filters) {
  for (const Filter& filter : filters) {
    if (filter.kind == Filter::shuffle) checked(H5Pset_shuffle(dataset.id()), "set the shuffle filter");
    if (filter.kind == Filter::deflate) checked(H5Pset_deflate(dataset.id(), filter.level), "set the deflate filter");
  }
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
  if (variable.element_bytes > kMostFillBytes) return;
  checked(H5Pset_fill_value(properties.id(), type_of(variable).id(), fill_of(variable).data()), "set the fill value");
}

void label_fill(hid_t dataset, const dc_variable_info_t& variable) {
  if (!may_be_masked(variable.type)) return;
  const Type type = type_of(variable);
  const hsize_t one = 1;
  const Space space(H5Screate_simple(1, &one, nullptr), "make a space");
  const Attribute attribute(H5Acreate2(dataset, "_FillValue", type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
                            "make the attribute", "_FillValue");
  checked(H5Awrite(attribute.id(), type.id(), fill_of(variable).data()), "write the attribute", "_FillValue");
}

}  // namespace damaris::hdf5
