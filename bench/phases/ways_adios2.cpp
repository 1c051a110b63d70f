// ADIOS2, engine BP5, with its own settings but for AsyncWrite: a step an output of cm1out.bp, which is open during the run.
// Used by: each rank of the mini-app, which loads it; DAMARIS_BENCH_WAY and _SYNC say what it does.
// Before it: the values of a tile. After it: one output of all ranks, or cm1out.rR.bp of each where ADIOS2 was built without MPI.
#include <adios2.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "block.hpp"

namespace damaris::bench {
namespace {

struct Kept {
  adios2::Variable<float> variable;
  std::vector<float> values;  // until EndStep
};

struct Output {
  explicit Output(MPI_Comm comm)
      : async(setting("DAMARIS_BENCH_WAY") == "adios2-async"), sync(!setting("DAMARIS_BENCH_SYNC").empty()) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
#if ADIOS2_USE_MPI
    library = std::make_unique<adios2::ADIOS>(comm);
    syncs = rank == 0;
#else
    library = std::make_unique<adios2::ADIOS>();
    folder = "cm1out.r" + std::to_string(rank) + ".bp";
#endif
    io = library->DeclareIO("cm1");
    io.SetEngine("BP5");
    if (async) io.SetParameter("AsyncWrite", "On");
    engine = io.Open(folder, adios2::Mode::Write);
  }

  // Whatever wrote the pages of a file, any descriptor syncs them all.
  void make_durable() const {
    if (!syncs) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0 || ::fsync(file) != 0) fail("cannot sync " + entry.path().string());
      ::close(file);
    }
  }

  bool async, sync, syncs = true;
  std::string folder = "cm1out.bp";
  std::unique_ptr<adios2::ADIOS> library;
  adios2::IO io;
  adios2::Engine engine;
  std::map<std::string, Kept> kept;
};

std::unique_ptr<Output> output;

// ADIOS2 throws, and Fortran cannot catch.
template <class Call>
void guarded(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

std::vector<std::size_t> dims(const Triple& triple) { return {triple.begin(), triple.end()}; }

}  // namespace
}  // namespace damaris::bench

using namespace damaris::bench;

void cm1_output_begin(int comm, int /*output*/) {
  guarded([&] {
    if (!output) output = std::make_unique<Output>(MPI_Comm_f2c(comm));
    output->engine.BeginStep();
  });
}

void cm1_output_put(const char* name, const float* values, const std::int64_t* strides, const std::int64_t* extent,
                    const std::int64_t* position, const std::int64_t* global) {
  guarded([&] {
    Kept& kept = output->kept[name];
    const Triple count = in_c_order(extent);
    if (!kept.variable)
      kept.variable = output->io.DefineVariable<float>(name, dims(in_c_order(global)), dims(in_c_order(position)), dims(count),
                                                       adios2::ConstantDims);
    kept.values.resize(product(count));
    pack(values, strides, count, kept.values.data());
    output->engine.Put(kept.variable, kept.values.data());
  });
}

void cm1_output_end() {
  guarded([] {
    output->engine.EndStep();
    if (output->sync && !output->async) output->make_durable();
  });
}

void cm1_output_close() {
  guarded([] {
    output->engine.Close();
    if (output->sync && output->async) output->make_durable();
    output.reset();
  });
}
