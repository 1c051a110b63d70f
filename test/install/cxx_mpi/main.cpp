// An outside simulation in C++ under MPI: three ranks, the last of which becomes the server.
#include <damaris/damaris_mpi.hpp>

#include <array>
#include <iostream>

static void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0, size = 0;
  MPI_Comm_rank(clients, &rank);
  MPI_Comm_size(clients, &size);
  const auto x = session.variable<double>("x");
  for (int step = 0; step < 3; ++step) {
    std::array<double, 8> values{};
    for (int i = 0; i < 8; ++i) values[i] = 100.0 * rank + 10.0 * step + i;
    x.write(step, values);
    session.end_iteration(step);
  }
  session.finalize();
  if (rank == 0) std::cout << "stored with damaris by " << size << " clients\n";
}

int main(int argc, char** argv) try {
  MPI_Init(&argc, &argv);
  MPI_Comm clients = MPI_COMM_NULL;
  if (auto session = damaris::mpi_session("run.xml", MPI_COMM_WORLD, clients)) simulate(*session, clients);
  MPI_Finalize();
} catch (const damaris::Error& error) {
  std::cerr << error.code() << " " << error.what() << "\n";
  MPI_Abort(MPI_COMM_WORLD, 1);
}
