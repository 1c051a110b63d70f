// The library that records, under a path that the loader can preload.
// Used by: damaris-record, before it becomes the program.
// Before it: an installation or a build of damaris. After it: LD_PRELOAD.
#pragma once

#include <string>

namespace damaris::record {

// Throws Error(DC_E_IO) if the library is not there, or cannot be given such a path.
std::string recorder_library();

}  // namespace damaris::record
