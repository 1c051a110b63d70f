// The size of a compound type in the header of an HDF5 dataset, where a message has at most 64 KiB.
// Used by: config, at start-up and in `damaris check`. Needs no HDF5.
// Before it: the fields in the XML. After it: a problem with its location in the XML, or the type of a dataset (new_dataset.hpp).
#pragma once

#include <damaris/damaris.h>

#include <cstdint>
#include <string_view>

namespace damaris::hdf5 {

constexpr std::uint64_t kMostMessageBytes = 65'535;

constexpr std::uint64_t kTypeMessageBytes = 8;  // without members

// The number of bytes that HDF5 needs for an offset in an element of this size.
constexpr std::uint64_t offset_bytes(std::uint64_t element_bytes) {
  return element_bytes < 256 ? 1 : 1 + offset_bytes(element_bytes >> 8);
}

// What a member adds, as encoded since HDF5 1.8.
constexpr std::uint64_t member_message_bytes(std::string_view name, dc_type type, bool is_array, std::uint64_t element_bytes) {
  const bool real = type == DC_FLOAT32 || type == DC_FLOAT64;
  const std::uint64_t one = type == DC_CHAR ? 8 : real ? 20 : 12, array = is_array ? 13 : 0;
  return name.size() + 1 + offset_bytes(element_bytes) + array + one;
}

}  // namespace damaris::hdf5
