// The scope in which the symbols of a plugin's library are looked up.
// Used by: what loads plugins.
// Before it: find_plugin. After it: dlopen.
#pragma once

#include <string>

#include "core/model/model.hpp"

namespace damaris::server {

// Flags for dlopen: the ordinary local scope, in which a plugin meets the program's C++ library, allocator and MPI. The hdf5 plugin alone
// gets a scope of its own, and only where it would else call the libhdf5 of the program; the log then names that. `path`: of its library.
int scope_of(const model::Plugin& plugin, const std::string& path);

}  // namespace damaris::server
