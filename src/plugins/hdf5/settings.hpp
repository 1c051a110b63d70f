// What the XML says of the files: the attributes of <hdf5>, checked.
// Used by: the hdf5 plugin's init, on the server's dispatch thread.
// Before it: dc_host_t. After it: storage.hpp.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "filters.hpp"

namespace damaris::hdf5 {

struct Settings {
  std::string basename;  // folder and start of the file names; default: the simulation's name
  std::vector<Filter> filters;
  int threads = 1;        // that pack chunks
  bool overwrite = true;  // exists="overwrite": files of an earlier run are replaced; "refuse": they stop the start
};

// Throws damaris::Error(DC_E_CONFIG), naming the attribute, what is allowed and the remedy.
Settings read_settings(const dc_host_t& host);

}  // namespace damaris::hdf5
