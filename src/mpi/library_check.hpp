// Checks that calls reach the MPI library that this one was built with: a program that links both flavours has handles of the other one.
// Used by: every rank, at the start, before any handle of the program is touched.
// Before it: mpi_flavour.h. After it: start.cpp and, for Fortran, fortran_start.c.
#pragma once

#include <string>

namespace damaris::mpi {

// `version` is what MPI_Get_library_version says. Nothing is refused of which that text does not prove that it is the other flavour:
// there are descendants of both under many names.
bool is_other_mpi(const std::string& version, bool built_with_openmpi);

// Throws DC_E_VERSION.
void require_our_mpi();

}  // namespace damaris::mpi
