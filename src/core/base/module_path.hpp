// The location of libdamaris, from which plugins and programs are found, in a build tree or an installation.
// Used by: the look-up of plugins, the client that starts a server, and benchmarks; at start-up.
#pragma once

#include <string>

namespace damaris {

// Absolute path of the folder that holds libdamaris.so.
std::string library_folder();

}  // namespace damaris
