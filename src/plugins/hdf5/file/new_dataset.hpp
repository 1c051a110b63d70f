// Creates the dataset of a piece: the HDF5 type of its elements, its path, dataspace, properties and attributes.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: pieces.hpp; the variable's declaration. After it: dataset_writer.hpp, chunk_writer.hpp fill it, labels.hpp labels it.
#pragma once

#include <damaris/plugin.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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
// The offset of `box` within the piece.
Sizes start_of(const Piece& piece, const Box& box);
Space space_of(const Box& box);

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

}  // namespace damaris::hdf5
