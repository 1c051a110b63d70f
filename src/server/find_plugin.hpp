// Locates the shared object of a plugin, and checks that no other user can replace it.
// Used by: PluginHost before it loads a plugin; `damaris check`, which loads nothing.
// Before it: the name in the XML. After it: dlopen.
#pragma once

#include <string>

#include "core/model/model.hpp"

namespace damaris::server {

// Searches an absolute path, or else the plugin path (DAMARIS_PLUGIN_PATH, then the folder beside the library) and the folder of the XML;
// never the working directory. Throws Error(DC_E_PLUGIN) naming every path tried, a file that anyone may write or replace, or one
// that is not a regular file.
std::string find_plugin(const std::string& library, const model::Model& model, const model::Location& where);

}  // namespace damaris::server
