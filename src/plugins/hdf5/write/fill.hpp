// The creation properties of a dataset other than its shape: filters and fill value, which is a number that a simulation is unlikely to
// write.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: settings.hpp; a variable with holes, or with parts in files that may be missing. After it: dataset_writer.hpp, the views, shared
// files.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../attributes/values.hpp"
#include "../file/handle.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) if this HDF5 lacks a filter.
void check_available(const std::vector<Filter>& filters);

void add_filters(const Properties& dataset, const std::vector<Filter>& filters);

// The fill value of the variable, as an element in memory: NaN for reals, netCDF's default for integers, zero for characters; members of
// compounds likewise.
std::vector<std::byte> fill_of(const dc_variable_info_t& variable);

// The header of a dataset has no room for a larger one.
constexpr std::uint64_t kMostFillBytes = 65'000;

// Sets the fill value in creation properties; of larger elements none, so that what HDF5 fills is zero.
void set_fill(const Properties& properties, const dc_variable_info_t& variable);

// Adds the attribute _FillValue, with which readers that follow the netCDF conventions mask such elements. Only for reals and integers of
// 16 and 32 bits: 8 bits have no value to spare, and 64 bits would lose digits in readers that convert masked integers to reals.
void label_fill(hid_t dataset, const dc_variable_info_t& variable);

}  // namespace damaris::hdf5
