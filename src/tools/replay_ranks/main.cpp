// damaris-replay-ranks: plays one process of a plan in each rank, with its outputs written by collective MPI-IO or by servers of Damaris.
// Used by: damaris replay --as, which starts it under MPI on this machine; not by people.
// Before it: a folder and shared memory that damaris replay has made. After it: the times, in that memory.
#include <damaris/damaris_mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "replay/reader.hpp"
#include "replay/stage.hpp"
#include "tools/replay_ranks/collective_files.hpp"
#include "tools/replay_ranks/servers.hpp"

namespace {

using namespace damaris;

struct Arguments {
  std::string plan, folder, memory, stretch, xml;  // without an XML the outputs are collective
};

// Returns false on a server that has ended its work.
bool join(const Arguments& given, MPI_Comm& clients) {
  if (given.xml.empty()) return true;
  int is_client = 1;
  const int code = dc_mpi_initialize(given.xml.c_str(), MPI_COMM_WORLD, &clients, &is_client);
  if (code < 0) throw Error(static_cast<dc_code>(code), dc_last_error());
  return is_client != 0;
}

void play(const Arguments& given) {
  MPI_Comm clients = MPI_COMM_WORLD;
  if (!join(given, clients)) return;
  int rank = 0;
  MPI_Comm_rank(clients, &rank);
  const bool is_collective = given.xml.empty();
  const replay::Outputs outputs =
      replay::rewrite(replay::read_plan_file(given.plan), is_collective ? replay::Way::collective : replay::Way::dedicated,
                      std::strtod(given.stretch.c_str(), nullptr));
  const replay::PlayFolder folder(outputs.plan, given.folder);
  replay::Stage stage(outputs.plan, folder, given.memory);
  std::unique_ptr<replay::Outlet> outlet;
  if (is_collective)
    outlet = std::make_unique<replay::CollectiveFiles>(outputs, given.folder, clients);
  else
    outlet = std::make_unique<replay::Servers>(outputs);
  stage.outlet = outlet.get();
  stage.first_output = outputs.first_file;
  replay::take_part(stage, static_cast<std::uint32_t>(rank));
  // The others may be inside a collective call that this one has not come to.
  if (stage.common.stopped && is_collective) MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "damaris-replay-ranks: started by damaris replay --as\n");
    return 2;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  try {
    play({argv[1], argv[2], argv[3], argv[4], argv[5]});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
