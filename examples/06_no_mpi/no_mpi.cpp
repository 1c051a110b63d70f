// A client without MPI. The XML decides whether a server of its own does the writing or this process itself.
// Run two of them: ./no_mpi_cpp detached.xml 0 & ./no_mpi_cpp detached.xml 1; wait
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <damaris/damaris.hpp>

namespace {

constexpr int kCells = 20, kSteps = 3;

void simulate(damaris::Session& session, int id) {
  std::array<double, kCells> height;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kCells; ++i) height[static_cast<std::size_t>(i)] = 1000 * step + 100 * id + i;
    session.write("height", step, height);
    session.end_iteration(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: no_mpi_cpp CONFIG ID   (each process of a run has another ID: 0, 1, ...)\n");
    return 2;
  }
  try {
    const int id = std::atoi(argv[2]);
    auto session = damaris::Session::attach(argv[1], id);
    simulate(session, id);
    session.flush(kSteps - 1, std::chrono::seconds(30));  // not needed: it shows how to wait until the files are safe
    session.finalize();
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "no_mpi: %s\n", error.what());
    return 1;
  }
  return 0;
}
