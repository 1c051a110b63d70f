// Particles of a compound type whose number changes with step and rank; in one step a client has none.
// Run it on three ranks or more: mpirun -n 3 ./variable_size_cpp
#include <cstdio>
#include <vector>

#include <damaris/damaris_mpi.hpp>

namespace {

constexpr int kSteps = 4;

// As the type "particle" in the XML; its size is checked when the session writes it.
struct Particle {
  double position[3];
  float charge;
  int id;
};

std::vector<Particle> move_particles(int rank, int step) {
  std::vector<Particle> particles;
  for (int p = 0; p < 2 * step + rank; ++p)
    particles.push_back(
        {{static_cast<double>(p), static_cast<double>(rank), static_cast<double>(step)}, p % 2 == 0 ? 1.f : -1.f, 100 * rank + p});
  return particles;
}

void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0;
  MPI_Comm_rank(clients, &rank);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<Particle> particles = move_particles(rank, step);
    session.set_shape("particles", {static_cast<std::int64_t>(particles.size())});
    session.write("particles", step, particles);
    session.end_iteration(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    MPI_Comm clients = MPI_COMM_NULL;
    auto session = damaris::mpi_session(argc > 1 ? argv[1] : "variable_size.xml", MPI_COMM_WORLD, clients);
    if (session) {
      simulate(*session, clients);
      session->finalize();
    }
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "variable_size: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
