// The checksum of a dataset's values as they lie in a file: the counterpart of what the writers enter into the manifest.
// Used by: `damaris verify`, one thread; restart on the server's dispatch thread.
// Before it: an open file. After it: HDF5, with its filters.
#pragma once

#include <cstdint>

#include "../file/handle.hpp"
#include "core/base/box.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// CRC-32 of the values in the file's type, chunk by chunk, chunks and the values in each in C order and without what lies beyond the
// dataset; without chunks of all values in C order. Throws Failure for what cannot be read.
std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path);

// CRC-32 of the values of a part of the dataset, in C order. `part` counts from the dataset's first element. Throws Failure.
std::uint32_t checksum_of_part(const Dataset& dataset, const std::string& path, const Box& part);

// What dataset.checksum was when it was stored. Throws Failure.
std::uint32_t checksum_of(const File& file, const manifest::DatasetEntry& dataset);

}  // namespace damaris::hdf5
