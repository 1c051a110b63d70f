// damaris-bench-phases: one run of one way of writing. README.md says what it times and what it tells.
#include <cstdio>
#include <exception>

#include "core/base/error.hpp"
#include "phases/ranks.hpp"
#include "phases/record.hpp"
#include "phases/simulation.hpp"

namespace damaris::bench {
namespace {

void compute_and_write(const Options& options, const Grid& grid, MPI_Comm processes, Record& record) {
  const int computing = size_of(processes);
  Fields fields(grid, grid.slab(rank_in(processes), computing), options.fields);
  const std::unique_ptr<Way> way = make_way(options, grid, processes);
  // The same work in all, however many share it.
  const double compute_s = options.compute_s * size_of(MPI_COMM_WORLD) / computing;
  record.add(simulate(options.phases, compute_s, fields, *way, processes), fields.bytes());
  way->finish();
}

void run(const Options& options) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int computing = options.dedicated() ? ranks - options.groups : ranks;
  if (computing < options.groups)
    throw Error(DC_E_ARGUMENT, "there are fewer computing processes than --groups; start more ranks, or ask for fewer groups");
  Record record(options, rank_in(MPI_COMM_WORLD));
  const Grid grid = Grid::of_bytes(options.bytes * static_cast<std::uint64_t>(ranks), ranks);
  const MPI_Comm processes = options.dedicated() ? start_damaris(options, grid, MPI_COMM_WORLD) : MPI_COMM_WORLD;
  if (processes != MPI_COMM_NULL) compute_and_write(options, grid, processes, record);
  record.end();
}

}  // namespace
}  // namespace damaris::bench

int main(int argc, char** argv) {
  if (damaris::bench::tell_ways(argc, argv)) return 0;
  MPI_Init(&argc, &argv);
  damaris::bench::Options options;
  int status = damaris::bench::parse(argc, argv, damaris::bench::rank_in(MPI_COMM_WORLD) == 0, options);
  if (status < 0) {
    try {
      damaris::bench::run(options);
      status = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "damaris-bench-phases: %s\n", error.what());
      damaris::bench::tell_failure(options, damaris::bench::rank_in(MPI_COMM_WORLD), error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return status;
}
