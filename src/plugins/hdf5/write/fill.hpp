// What a dataset is made with beside its shape: its filters, and what stands in it where nobody has written, never a number that a simulation is
// likely to write.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: settings.hpp; a variable of which there are holes, or parts in files that may be gone. After it: dataset_writer.hpp, the views, files of several servers.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <vector>

#include "../attributes/values.hpp"
#include "../file/handle.hpp"

namespace damaris::hdf5 {

// Throws damaris::Error(DC_E_CONFIG) when this HDF5 lacks one.
void check_available(const std::vector<Filter>& filters);

void add_filters(const Properties& dataset, const std::vector<Filter>& filters);

// An element of the variable, in memory: NaN for reals, what netCDF takes for integers, zero for characters; members of compounds likewise.
std::vector<std::byte> fill_of(const dc_variable_info_t& variable);

// Of a dataset that is to be made.
void set_fill(const Properties& properties, const dc_variable_info_t& variable);

// Adds the attribute _FillValue, by which readers that follow the netCDF conventions mask such elements. Reals, and integers of 16 and
// 32 bits: those of 8 bits have no value to spare, and those of 64 bits would lose digits in readers that turn masked integers into reals.
void label_fill(hid_t dataset, const dc_variable_info_t& variable);

}  // namespace damaris::hdf5
