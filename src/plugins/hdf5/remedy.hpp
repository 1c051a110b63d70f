// What a user can do about an error of the file system that keeps a step from being stored.
// Used by: storage.cpp, for the sentences of a failure.
#pragma once

#include <string>

namespace damaris::hdf5 {

// `error`: errno, or a code of core/base/failure.hpp. Returns the end of a sentence, without a full stop.
std::string remedy_for(int error);

}  // namespace damaris::hdf5
