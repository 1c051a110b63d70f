// Verifies the datasets' values of a run in HDF5, for the manifest's verify. Needs no header of HDF5.
// Used by: `damaris verify`, one thread.
// Before it: manifest/verify.hpp, which makes the other checks. After it: stored_values.hpp.
#pragma once

#include <string>

#include "manifest/verify.hpp"

namespace damaris::hdf5 {

// Calls manifest::verify with `options.open` set to open HDF5 files.
manifest::Verification verify(const std::string& manifest, manifest::VerifyOptions options = {});

// Call first in a program that only reads: HDF5 1.10 leaks memory for damaged files, and reports that at exit.
void close_nothing_at_exit();

}  // namespace damaris::hdf5
