// The master file of a run: each variable as one array over all files and iterations, made of virtual datasets.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the record.
// Before it: global_view.hpp says what is where. After it: xarray, h5py, h5dump. docs/file-format.md lists what is in it.
#pragma once

#include <damaris/plugin.h>

#include "global_view.hpp"
#include "view_names.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// Writes <stem>.h5 aside and puts it in place of the one before: at every moment the name leads to a whole file. Opens none of the
// files it points to; it names them without folder, so that the folder can be moved. `complete`: the run has ended, and nothing of
// it is left out. Throws Failure and leaves no file behind.
void write_master(const ViewPlace& place, const GlobalView& view, const ViewNames& names, const Steps& steps, const dc_host_t& host,
                  bool complete);

}  // namespace damaris::hdf5
