// Computes the checksum of a dataset's stored values, to compare with the one that the writers recorded in the manifest.
// Used by: `damaris verify`, one thread; restart on the server's work thread.
// Before it: an open file. After it: HDF5, with its filters.
#pragma once

#include <cstdint>

#include "../file/handle.hpp"
#include "core/base/box.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// CRC-32 of the values in the file's type: chunk by chunk, with chunks and the values of each in C order, without those beyond the dataset;
// if not chunked, of all values in C order. Throws Failure if they cannot be read.
std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path);

// CRC-32 of the values of a part of the dataset, in C order. `part` is relative to the dataset's first element. Throws Failure.
std::uint32_t checksum_of_part(const Dataset& dataset, const std::string& path, const Box& part);

// The same of the elements `part`, in the coordinates of dataset.box. Throws Failure.
std::uint32_t checksum_of_part(const File& file, const manifest::DatasetEntry& dataset, const Box& part);

// The current value of the checksum that dataset.checksum recorded. Throws Failure.
std::uint32_t checksum_of(const File& file, const manifest::DatasetEntry& dataset);

}  // namespace damaris::hdf5
