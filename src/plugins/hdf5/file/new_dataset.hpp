// Creates the dataset of a piece: the HDF5 type of its elements, its path, dataspace, filters and fill value; and the attributes that
// describe datasets and files.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: pieces.hpp; the variable's declaration. After it: dataset_writer.hpp, box_writer.hpp and the views. docs/file-format.md lists
// the attributes.
#pragma once

#include <damaris/plugin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../attributes/attributes.hpp"
#include "../layout/pieces.hpp"
#include "handle.hpp"

namespace damaris::hdf5 {

// The type in memory and in the file, so nothing is converted. Characters become strings of one byte; a compound keeps its offsets, and
// its array members become HDF5 arrays.
Type type_of(const dc_variable_info_t& variable);

// IEEE 754 binary16, little-endian: a user-defined type in HDF5, which converts it for any reader.
Type half_type();

using Sizes = std::array<hsize_t, DC_MAX_DIMS>;
Sizes sizes_of(const Box& box);
Space space_of(const Box& box);
Space simple_space(const std::vector<hsize_t>& extents);
// The offset of `part` within `whole`, both in the same coordinates.
Sizes start_of(const Box& whole, const Box& part);
// Selects the part of the space of `whole`.
void select(const Space& space, const Box& whole, const Box& part);

// Link properties that create intermediate groups; names are UTF-8.
Properties link_properties();
Properties dataset_properties();
// With early allocation of its place in the file.
Properties contiguous_properties();
void set_chunk(const Properties& properties, const Piece& piece, const Extents& extents);

// Creates the dataset and its parent groups.
Dataset create_dataset(hid_t file, const Piece& piece, const Type& type, const Properties& properties, const Properties& links);

// Writes the elements of `box`, which are contiguous in memory.
void write_box(const Dataset& dataset, const Piece& piece, const Type& type, const Box& box, const void* data);

// A list of `count` values.
void write_list(hid_t object, const char* name, hid_t type, std::size_t count, const void* values);
// Strings are UTF-8 of variable length: h5py returns str, h5dump prints them. Numbers are scalars or lists, never two-dimensional,
// because netCDF-C cannot open a file with such an attribute.
void write_attribute(hid_t object, const char* name, const std::string& value);
void write_attribute(hid_t object, const char* name, std::int32_t value);
void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, double value);
void write_attribute(hid_t object, const char* name, const std::vector<std::int32_t>& values);
void write_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
void write_attribute(hid_t object, const char* name, const std::vector<double>& values);
void write_attribute(hid_t object, const char* name, const std::vector<std::string>& values);

// Throws damaris::Error(DC_E_CONFIG) if this HDF5 lacks a filter.
void check_available(const std::vector<Filter>& filters);

// Sets the filters of the reduction if the dataset is `compressed`; else, without a codec, those of the XML.
void set_filters(const Properties& dataset, const dc_reduction_t& reduction, const std::vector<Filter>& filters, bool compressed);

// The fill value of the variable, as an element in memory: NaN for reals, netCDF's default for integers, zero for characters; members of
// compounds likewise.
std::vector<std::byte> fill_of(const dc_variable_info_t& variable);

// Sets the fill value in creation properties; of larger elements none, so that what HDF5 fills is zero.
void set_fill(const Properties& properties, const dc_variable_info_t& variable);

// Adds the attribute _FillValue, with which readers that follow the netCDF conventions mask such elements. Only for reals and integers of
// 16 and 32 bits: 8 bits have no value to spare, and 64 bits would lose digits in readers that convert masked integers to reals.
void label_fill(hid_t dataset, const dc_variable_info_t& variable);

constexpr std::int32_t kFormatVersion = 2;

// Writes no attribute for an empty text.
void label_text(hid_t object, const char* name, const char* text);

// Format and version, program and server.
void label_writer(hid_t file, const dc_host_t& host);
void label_step(hid_t object, std::int64_t step, const std::optional<double>& time);
void label_variable(hid_t dataset, const dc_variable_info_t& variable);
std::optional<double> time_of(const dc_step_t& step);
void label_file(hid_t file, const dc_host_t& host, const dc_step_t& step);

// Of a dataset with `has_holes`, also the value of what no part fills.
void label_dataset(const Dataset& dataset, const Piece& piece, std::int64_t step, const std::optional<double>& time,
                   bool has_holes = false);

}  // namespace damaris::hdf5
