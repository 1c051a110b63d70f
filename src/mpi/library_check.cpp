#include "mpi/library_check.hpp"

#include <damaris/mpi_flavour.h>
#include <mpi.h>

#include <algorithm>
#include <initializer_list>

#include "api/guard.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::mpi {
namespace {

bool names_any(const std::string& version, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (version.find(name) != std::string::npos) return true;
  return false;
}

// Large enough for both flavours: MPICH writes up to 8192 characters, while OpenMPI's constant is 256.
std::string library_version() {
  constexpr int kLongest = 16384;
  std::string text(kLongest, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(text.find('\0'));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

}  // namespace

bool is_other_mpi(const std::string& version, bool built_with_openmpi) {
  if (built_with_openmpi) return names_any(version, {"MPICH", "MVAPICH", "Intel(R) MPI"});
  return names_any(version, {"Open MPI", "Spectrum MPI"});
}

void require_our_mpi() {
  const std::string version = library_version();
  if (!is_other_mpi(version, DAMARIS_MPI_IS_OPENMPI != 0)) return;
  throw Error(
      DC_E_VERSION,
      format("the program runs with '{}', and this Damaris was built with {}; compile and link the program with that one alone "
             "(mpicc.{}), or install Damaris for the program's MPI",
             version.substr(0, version.find_first_of(",\n")), DAMARIS_MPI_FLAVOUR, DAMARIS_MPI_FLAVOUR));
}

}  // namespace damaris::mpi

extern "C" int damaris_mpi_require_our_mpi() {
  return damaris::api::guard([] {
    damaris::mpi::require_our_mpi();
    return DC_OK;
  });
}
