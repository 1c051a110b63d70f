// The location of libdamaris, to find plugins and programs beside it in a build tree and in any installed one.
// Used by: the look-up of plugins, the client that starts a server, and benchmarks; at start-up.
#pragma once

#include <string>

namespace damaris {

// Absolute path of the folder that holds libdamaris.so.
std::string library_folder();

}  // namespace damaris
