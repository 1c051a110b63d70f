// Checks that the MPI library at run time is the one that Damaris was built with: a program that links both flavours passes handles of the
// other one.
// Used by: every rank, at the start, before any handle of the program is used.
// Before it: mpi_flavour.h. After it: start.cpp and, for Fortran, fortran_start.c.
#pragma once

#include <string>

namespace damaris::mpi {

// `version`: the text of MPI_Get_library_version. Returns true only if the text proves that it is the other flavour, because descendants of
// both exist under many names.
bool is_other_mpi(const std::string& version, bool built_with_openmpi);

// Throws DC_E_VERSION.
void require_our_mpi();

}  // namespace damaris::mpi
