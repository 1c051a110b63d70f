// The kinetic energy is output only. So it is computed in the shared memory itself: no array for it, and no copy of it.
// Run it on three ranks or more: mpirun -n 3 ./alloc_commit_cpp
#include <algorithm>
#include <cstdio>
#include <vector>

#include <damaris/damaris_mpi.hpp>

namespace {

constexpr int kCells = 50, kSteps = 3;

void advance(std::vector<double>& velocity, int rank, int step) {
  for (int i = 0; i < kCells; ++i) velocity[static_cast<std::size_t>(i)] = step + 10 * rank + 0.5 * i;
}

void write_energy(damaris::Session& session, const std::vector<double>& velocity, int step) {
  auto energy = session.alloc<double>("energy", step);  // ours until commit
  std::transform(velocity.begin(), velocity.end(), energy.begin(), [](double v) { return 0.5 * v * v; });
  energy.commit();  // the server's now
}

void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0;
  MPI_Comm_rank(clients, &rank);
  std::vector<double> velocity(kCells);
  for (int step = 0; step < kSteps; ++step) {
    advance(velocity, rank, step);
    write_energy(session, velocity, step);
    session.end_iteration(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    MPI_Comm clients = MPI_COMM_NULL;
    auto session = damaris::mpi_session(argc > 1 ? argv[1] : "alloc_commit.xml", MPI_COMM_WORLD, clients);
    if (session) {
      simulate(*session, clients);
      session->finalize();
    }
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "alloc_commit: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
