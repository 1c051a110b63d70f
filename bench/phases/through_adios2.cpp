#include <adios2.h>

#include <array>

#include "phases/durable.hpp"
#include "phases/quiet_barrier.hpp"
#include "phases/ranks.hpp"
#include "phases/way.hpp"

namespace damaris::bench {
namespace {

#if ADIOS2_USE_MPI
// One output of all processes, which ADIOS2 itself gathers.
adios2::ADIOS library_of(MPI_Comm processes) { return adios2::ADIOS(processes); }
std::string suffix_of(int /*rank*/) { return ""; }
#else
// ADIOS2 without MPI: each process has an output of its own, with its part of the global arrays.
adios2::ADIOS library_of(MPI_Comm /*processes*/) { return adios2::ADIOS(); }
std::string suffix_of(int rank) { return ".r" + std::to_string(rank); }
#endif

// A step a phase of an output that is open during the whole run. Its settings are ADIOS2's own, but for AsyncWrite.
class ThroughAdios2 : public Way {
 public:
  ThroughAdios2(const Options& options, const Grid& grid, MPI_Comm processes)
      : processes_(processes),
        async_(options.way == "adios2-async"),
        sync_(options.sync),
        folder_(options.folder + "/phases" + suffix_of(rank_in(processes)) + ".bp"),
        library_(library_of(processes)),
        io_(library_.DeclareIO("phases")) {
    io_.SetEngine("BP5");
    if (async_) io_.SetParameter("AsyncWrite", "On");
    define(grid, grid.slab(rank_in(processes), size_of(processes)));
    engine_ = io_.Open(folder_, adios2::Mode::Write);
  }

  void write(int /*phase*/, const Fields& fields) override {
    engine_.BeginStep();
    for (int field = 0; field < kFields; ++field) engine_.Put(variables_[static_cast<std::size_t>(field)], fields[field]);
    engine_.EndStep();
    if (sync_ && !async_) sync();
  }

  void finish() override {
    engine_.Close();
    if (sync_ && async_) sync();
  }

 private:
  void define(const Grid& grid, const Slab& slab) {
    for (int field = 0; field < kFields; ++field)
      variables_[static_cast<std::size_t>(field)] =
          io_.DefineVariable<float>("field" + std::to_string(field), {grid.levels, grid.rows, grid.columns}, {0, slab.first, 0},
                                    {grid.levels, slab.count, grid.columns}, adios2::ConstantDims);
  }

  // Who shares an output waits for the one that syncs it.
  void sync() const {
    if (!ADIOS2_USE_MPI || rank_in(processes_) == 0) make_durable(folder_);
    if (ADIOS2_USE_MPI) quiet_barrier(processes_);
  }

  MPI_Comm processes_;
  bool async_, sync_;
  std::string folder_;
  adios2::ADIOS library_;
  adios2::IO io_;
  adios2::Engine engine_;
  std::array<adios2::Variable<float>, kFields> variables_;
};

}  // namespace

std::unique_ptr<Way> through_adios2(const Options& options, const Grid& grid, MPI_Comm processes) {
  return std::make_unique<ThroughAdios2>(options, grid, processes);
}

}  // namespace damaris::bench
