// HDF5's way to a file that the plugin has opened: a virtual file driver over a WriteTarget.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: HDF5's file layer. After it: write_target.hpp.
#pragma once

#include "handle.hpp"
#include "write_target.hpp"

namespace damaris::hdf5 {

// Makes files opened with these access properties write to `target`, which must outlive them. The file itself has the ordinary
// format: any driver opens it.
void use_target(const Properties& access, WriteTarget& target);

}  // namespace damaris::hdf5
