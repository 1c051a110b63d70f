#include "mpi/library_check.hpp"

#include <catch2/catch.hpp>

using damaris::mpi::is_other_mpi;

TEST_CASE("an MPI of the other flavour is refused under each name that it may have") {
  for (const char* version : {"Open MPI v4.1.4, package: Debian OpenMPI", "Spectrum MPI v10.4"}) {
    CHECK(is_other_mpi(version, false));
    CHECK_FALSE(is_other_mpi(version, true));
  }
  for (const char* version : {"MPICH Version:\t4.0.2", "MVAPICH2 Version :\t2.3", "MPI VERSION : CRAY MPICH version 8.1",
                              "Intel(R) MPI Library 2021.9 for Linux* OS"}) {
    CHECK(is_other_mpi(version, true));
    CHECK_FALSE(is_other_mpi(version, false));
  }
}

TEST_CASE("an MPI of unknown name is accepted, whatever Damaris was built with") {
  CHECK_FALSE(is_other_mpi("MPI of tomorrow 1.0", true));
  CHECK_FALSE(is_other_mpi("MPI of tomorrow 1.0", false));
}
