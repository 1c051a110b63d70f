// All processes flush their chunks at the same time, so that none waits for another one that is at its flush.
#include <cstdlib>

#include "recorder/call.hpp"
#include "recorder/mpi_layer.hpp"

namespace damaris::recorder::mpi {
namespace {

constexpr unsigned kHalf = 500;  // of the fullest chunk, in thousandths: until the next agreement as much may come again

struct World {
  decltype(&PMPI_Allreduce) allreduce;
  decltype(&PMPI_Barrier) barrier;
  MPI_Comm comm;
  MPI_Datatype number;
  MPI_Op most;
};
World world;
long every = -1, calls;  // -1: not looked up yet

void look_up(const void* function) {
  const char* const text = ::getenv("DAMARIS_RECORDING_FLUSH_TOGETHER");
  every = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  if (every <= 0) return;
  find(function, "PMPI_Allreduce", world.allreduce);
  find(function, "PMPI_Barrier", world.barrier);
#ifdef OPEN_MPI
  find_handle(function, "ompi_mpi_comm_world", world.comm);
  find_handle(function, "ompi_mpi_unsigned", world.number);
  find_handle(function, "ompi_mpi_op_max", world.most);
#else
  world = {world.allreduce, world.barrier, MPI_COMM_WORLD, MPI_UNSIGNED, MPI_MAX};
#endif
  if (world.allreduce == nullptr || world.barrier == nullptr) every = 0;
}

template <class Meeting>
bool meets(Thread& thread, Meeting meeting) {
  const std::uint64_t begin = now_ns();
  const bool has_met = meeting() == MPI_SUCCESS;
  put_own(thread, trace::kSynchronise, begin, now_ns() - begin, 0);
  return has_met;
}

}  // namespace

// MPI allows one collective call on a communicator at a time, so no other thread counts.
bool counts_together(const void* function, MPI_Comm comm) {
  if (__builtin_expect(every == 0, 1) || this_thread.quiet != nullptr) return false;
  if (every < 0) look_up(function);
  return every > 0 && comm == world.comm && ++calls % every == 0;
}

void flush_together() {
  Thread& thread = this_thread;
  const void* const quiet = thread.quiet;
  thread.quiet = kEverything;
  const unsigned mine = fill_level(thread);
  unsigned most = 0;
  if (meets(thread, [&] { return world.allreduce(&mine, &most, 1, world.number, world.most, world.comm); }) && most >= kHalf) {
    flush_now(thread);
    meets(thread, [] { return world.barrier(world.comm); });
  }
  thread.quiet = quiet;
}

}  // namespace damaris::recorder::mpi
