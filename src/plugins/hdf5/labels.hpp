// The attributes that explain a file and its datasets to a reader.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: an open file or dataset. After it: attributes.hpp. docs/file-format.md lists them.
#pragma once

#include <damaris/plugin.h>

#include "handle.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {

constexpr std::int32_t kFormatVersion = 1;

// Nothing for an empty text.
void label_text(hid_t object, const char* name, const char* text);

void label_file(hid_t file, const dc_host_t& host, const dc_iteration_t& iteration);

void label_dataset(const Dataset& dataset, const Piece& piece, const dc_iteration_t& iteration);

}  // namespace damaris::hdf5
