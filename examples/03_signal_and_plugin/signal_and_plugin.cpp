// Every second step the clients signal "look": the dedicated core then calls the plugin on the data of that step.
// Run it on three ranks or more: mpirun -n 3 ./signal_and_plugin_cpp
#include <array>
#include <cstdio>

#include <damaris/damaris_mpi.hpp>

namespace {

constexpr int kCells = 100, kSteps = 4;

void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0;
  MPI_Comm_rank(clients, &rank);
  std::array<double, kCells> temperature;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kCells; ++i) temperature[static_cast<std::size_t>(i)] = 100 * rank + i + 0.25 * step;
    session.write("temperature", step, temperature);
    if (step % 2 == 0) session.signal("look", step);  // after the data it is about, before the end of the step
    session.end_iteration(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    MPI_Comm clients = MPI_COMM_NULL;
    auto session = damaris::mpi_session(argc > 1 ? argv[1] : "signal_and_plugin.xml", MPI_COMM_WORLD, clients);
    if (session) {
      simulate(*session, clients);
      session->finalize();
    }
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "signal_and_plugin: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
