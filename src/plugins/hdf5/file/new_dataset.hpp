// A dataset for a piece: the HDF5 type of its elements, its place in the file, its space, its properties and its attributes.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp; what the XML says of the variable. After it: dataset_writer.hpp, chunk_writer.hpp fill it, labels.hpp labels it.
#pragma once

#include <damaris/plugin.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../layout/pieces.hpp"
#include "handle.hpp"

namespace damaris::hdf5 {

// In memory and in the file alike: nothing is converted. Characters become strings of one byte; a compound keeps its offsets, and
// its array members become HDF5 arrays.
Type type_of(const dc_variable_info_t& variable);

// IEEE 754 binary16, little-endian: a type of one's own in HDF5, which converts it for any reader.
Type half_type();

using Sizes = std::array<hsize_t, DC_MAX_DIMS>;
Sizes sizes_of(const Box& box);
// Where `box` begins inside the piece.
Sizes start_of(const Piece& piece, const Box& box);
Space space_of(const Box& box);

// Makes the groups above a new object; names are UTF-8.
Properties link_properties();
Properties dataset_properties();
// With its place in the file from the start.
Properties contiguous_properties();
void set_chunk(const Properties& properties, const Piece& piece, const Extents& extents);

// Creates the dataset with the groups above it.
Dataset create_dataset(hid_t file, const Piece& piece, const Type& type, const Properties& properties, const Properties& links);

// Writes the elements of `box`, which lie side by side.
void write_box(const Dataset& dataset, const Piece& piece, const Type& type, const Box& box, const void* data);

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
