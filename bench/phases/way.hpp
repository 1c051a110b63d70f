// A way of writing the fields of all processes, phase after phase.
// Used by: every computing rank; the same calls on each.
// Before it: fields. After it: files in the run's folder, now or later.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "phases/fields.hpp"
#include "phases/options.hpp"

namespace damaris::bench {

class Way {
 public:
  virtual ~Way() = default;
  // Hands the fields of this process over. Collective. What is timed: returns when the process may go on computing.
  virtual void write(int phase, const Fields& fields) = 0;
  // After the last phase: returns when all is written. Collective.
  virtual void finish() {}
};

// All of them, built or not.
std::vector<std::string> way_names();
// "", or why the way is not there and what to do.
std::string why_not_built(const std::string& way);
// The way of the options, among the computing processes. Collective.
std::unique_ptr<Way> make_way(const Options& options, const Grid& grid, MPI_Comm processes);

// `file-per-process` and its two variants.
std::unique_ptr<Way> file_per_process(const Options& options, MPI_Comm processes);
// `collective`, `grouped`, `independent`.
std::unique_ptr<Way> shared_file(const Options& options, MPI_Comm processes);
// `adios2`, `adios2-async`, where ADIOS2 was found.
std::unique_ptr<Way> through_adios2(const Options& options, const Grid& grid, MPI_Comm processes);
std::unique_ptr<Way> one_writer(const Options& options, MPI_Comm processes);
// With the session that start_damaris() began.
std::unique_ptr<Way> through_damaris(const Grid& grid, MPI_Comm processes);

// Splits `world` as dc_mpi_initialize does, with an XML that it writes. Returns MPI_COMM_NULL on a dedicated core, when the run is over.
// Throws Error.
MPI_Comm start_damaris(const Options& options, const Grid& grid, MPI_Comm world);

// "FOLDER/phases.p3.r1.h5" for phase 3 and suffix "r1".
inline std::string file_name(const Options& options, int phase, const std::string& suffix) {
  return options.folder + "/phases.p" + std::to_string(phase) + "." + suffix + ".h5";
}

}  // namespace damaris::bench
