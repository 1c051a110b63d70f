// Verifies a run whose files are HDF5: the values of the datasets, for the manifest's verify. Needs no header of HDF5.
// Used by: `damaris verify`, one thread.
// Before it: manifest/verify.hpp, which checks the rest. After it: stored_values.hpp.
#pragma once

#include <string>

#include "manifest/verify.hpp"

namespace damaris::hdf5 {

// manifest::verify with `options.open` set to HDF5's.
manifest::Verification verify(const std::string& manifest, manifest::VerifyOptions options = {});

// For a program that only reads, first of all: HDF5 1.10 keeps memory of what it read of a damaged file, and says so at the exit.
void close_nothing_at_exit();

}  // namespace damaris::hdf5
