// A dataset for a piece: its place in the file, its space and its properties.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: pieces.hpp. After it: dataset_writer.hpp, chunk_writer.hpp fill it.
#pragma once

#include <array>

#include "../layout/pieces.hpp"
#include "handle.hpp"

namespace damaris::hdf5 {

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

}  // namespace damaris::hdf5
