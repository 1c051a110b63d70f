// HDF5's filter 32015, so that a process reads what was packed with zstd also where nobody has installed that filter.
// Used by: the hdf5 plugin when it reads a run; `damaris verify`. One thread.
// Before it: HDF5 as it reads a chunk. After it: the codecs of src/plugins/reduce.
#pragma once

namespace damaris::hdf5 {

// Does nothing where the process has the filter. It only reads. Throws Failure.
void register_zstd();

}  // namespace damaris::hdf5
