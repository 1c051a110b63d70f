// The filters of the setting filters="shuffle,deflate:LEVEL": parsed, checked, and put into a dataset's properties.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: settings.hpp. After it: dataset_writer.hpp.
#pragma once

#include <string>
#include <vector>

#include "../file/handle.hpp"

namespace damaris::hdf5 {

struct Filter {
  enum Kind { shuffle, deflate } kind;
  unsigned level;  // of deflate, 0 to 9
};

// An empty text means no filter. Throws damaris::Error(DC_E_CONFIG), naming what is allowed, and when this HDF5 lacks a filter.
std::vector<Filter> parse_filters(const std::string& text);

void add_filters(const Properties& dataset, const std::vector<Filter>& filters);

}  // namespace damaris::hdf5
