// The XDMF file of a run: what ParaView and VTK open to see the arrays of the master file as grids in time.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: the master file, which it points into. After it: ParaView.
#pragma once

#include <string>

#include "global_view.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// Arrays of one to three dimensions, of numbers. Those of the same shape and place are one grid, with the steps in which any
// of them was stored.
std::string xdmf_text(const std::string& stem, const GlobalView& view, const ViewNames& names);

// Whether the readers of XDMF find a master file of this name: they split at a colon, and know neither backslashes nor letters beyond
// ASCII.
bool can_name(const std::string& stem);

// Writes <stem>.xmf aside and puts it in place of the one before. Throws Failure.
void write_xdmf(const ViewPlace& place, const GlobalView& view, const ViewNames& names);

}  // namespace damaris::hdf5
