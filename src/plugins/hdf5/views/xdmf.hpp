// The XDMF file of a run, with which ParaView and VTK show the arrays of the master file as grids over time.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: the master file, to which it refers. After it: ParaView.
#pragma once

#include <string>

#include "global_view.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// Whether readers of XDMF can open a master file of this name: they split names at colons, and support neither backslashes nor non-ASCII
// characters.
bool can_name(const std::string& stem);

// Writes <stem>.xmf to a temporary file and renames it into place: with numeric arrays of one to three dimensions, of which those of the
// same shape and position form one grid, with the steps in which any of them was stored. Throws Failure.
void write_xdmf(const ViewPlace& place, const GlobalView& view, const ViewNames& names);

}  // namespace damaris::hdf5
