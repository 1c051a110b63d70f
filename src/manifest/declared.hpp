// What the XML says of a variable that its values do not: so that nobody takes those of one run for another's.
// Used by: the hdf5 plugin, on the dispatch thread of the server that keeps the manifest.
// Before it: the XML. After it: the line of the run, and the views, which show together only what was declared alike.
#pragma once

#include <damaris/plugin.h>

#include <memory>
#include <string>

#include "entries.hpp"

namespace damaris::manifest {

// "float64 in K", "{x: float64, n: int32[3]}".
std::string declared_as(const dc_variable_info_t& variable);

std::shared_ptr<const Declarations> declarations_of(const dc_host_t& host);

}  // namespace damaris::manifest
