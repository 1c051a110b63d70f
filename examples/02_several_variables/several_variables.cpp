// Several variables in a step: the interiors of two fields with a halo, which the server joins to global arrays, and a number.
// Run it on three ranks or more: mpirun -n 3 ./several_variables_cpp
#include <cstdio>
#include <vector>

#include <damaris/damaris_mpi.hpp>

namespace {

constexpr int kNx = 6, kNy = 4, kHalo = 1, kSteps = 2, kRow = kNx + 2 * kHalo;

// A field with a halo on all sides.
template <class T>
class Field {
 public:
  T& at(int j, int i) { return values_[static_cast<std::size_t>((j + kHalo) * kRow + i + kHalo)]; }
  // What is written: extents and strides, in elements. Nothing but the interior is copied.
  damaris::Section<T> interior() { return {&at(0, 0), {kNy, kNx}, {kRow, 1}}; }

 private:
  std::vector<T> values_ = std::vector<T>((kNy + 2 * kHalo) * kRow);
};

// A value that encodes its place in the global array; the halo is 0.
template <class T>
Field<T> compute(int rank, int step, T add) {
  Field<T> field;
  for (int j = 0; j < kNy; ++j)
    for (int i = 0; i < kNx; ++i) field.at(j, i) = static_cast<T>(1000 * step + 100 * j + rank * kNx + i) + add;
  return field;
}

void simulate(damaris::Session& session, MPI_Comm clients) {
  int rank = 0, tiles = 0;
  MPI_Comm_rank(clients, &rank);
  MPI_Comm_size(clients, &tiles);
  session.set_parameter("tiles", tiles);
  session.set_position("field", {0, rank * kNx});
  session.set_position("fine_field", {0, rank * kNx});
  const auto temperature = session.variable<float>("temperature");  // looked up once
  const auto pressure = session.variable<double>("pressure");
  for (int step = 0; step < kSteps; ++step) {
    temperature.write(step, compute<float>(rank, step, 0).interior());
    pressure.write(step, compute<double>(rank, step, 0.5).interior());
    session.write("iterations", step, 10 * step + rank);
    session.set_time(step, 0.25 * step);
    session.end_iteration(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    MPI_Comm clients = MPI_COMM_NULL;
    auto session = damaris::mpi_session(argc > 1 ? argv[1] : "several_variables.xml", MPI_COMM_WORLD, clients);
    if (session) {
      simulate(*session, clients);
      session->finalize();
    }
  } catch (const damaris::Error& error) {
    std::fprintf(stderr, "several_variables: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
