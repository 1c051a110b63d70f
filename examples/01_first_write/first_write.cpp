// Each client hands a tile of temperature to the dedicated core in three steps and goes on computing.
// Run it on three ranks or more: mpirun -n 3 ./first_write_cpp
#include <cstdio>
#include <string>
#include <vector>

#include <damaris/damaris_mpi.hpp>

namespace {

constexpr int kNx = 8, kNy = 4, kSteps = 3;

void compute(std::vector<double>& temperature, int rank, int step) {
  for (int j = 0; j < kNy; ++j)
    for (int i = 0; i < kNx; ++i) temperature[static_cast<std::size_t>(j * kNx + i)] = 1000 * step + 100 * rank + 10 * j + i;
}

void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0;
  MPI_Comm_rank(clients, &rank);
  std::vector<double> temperature(kNx * kNy);
  for (int step = 0; step < kSteps; ++step) {
    compute(temperature, rank, step);
    session.write("temperature", step, temperature);  // copied: the vector may be reused at once
    session.end_iteration(step);                      // nothing waits here: the dedicated core writes the file
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    MPI_Comm clients = MPI_COMM_NULL;
    // Without a value on a dedicated core, which comes back when all clients have finalized.
    auto session = damaris::mpi_session(argc > 1 ? argv[1] : "first_write.xml", MPI_COMM_WORLD, clients);
    if (session) {
      simulate(*session, clients);
      session->finalize();
    }
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "first_write: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
