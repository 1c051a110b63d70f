// The objects of the layer hdf5: files, datasets, attributes.
// Used by: its generated wrappers, any thread, which is quiet; HDF5 itself is asked, through the library that has `function`.
// Before it: an identifier. After it: its object, and how many bytes a call moved.
#pragma once

#include <hdf5.h>

#include <cstdint>

namespace damaris::recorder::hdf5 {

std::uint32_t file_opened(const void* function, const char* name, hid_t file);
// Of an identifier that a call has just made: another may have had its number before.
std::uint32_t made(const void* function, hid_t id);
std::uint32_t of(const void* function, hid_t id);
// Of an identifier that will be closed.
std::uint32_t left(const void* function, hid_t id);
// Of one that had a call before; kDropped for others, such as spaces and types.
std::uint32_t of_known(const void* function, hid_t id);

std::uint64_t bytes(const void* function, hid_t dataset, hid_t type, hid_t memory, hid_t file, int result);
std::uint64_t attribute_bytes(const void* function, hid_t attribute, hid_t type, int result);

}  // namespace damaris::recorder::hdf5
