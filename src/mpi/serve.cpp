#include "mpi/serve.hpp"

#include <sched.h>

#include <algorithm>
#include <csignal>

#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::mpi {
namespace {

std::atomic<bool> stop{false};

extern "C" void damaris_mpi_on_sigterm(int) { stop.store(true); }

class DrainOnSigterm {
 public:
  DrainOnSigterm() {
    stop.store(false);  // of an earlier run in this process
    struct sigaction action = {};
    action.sa_handler = damaris_mpi_on_sigterm;
    sigaction(SIGTERM, &action, &before_);
  }
  ~DrainOnSigterm() { sigaction(SIGTERM, &before_, nullptr); }
  DrainOnSigterm(const DrainOnSigterm&) = delete;
  DrainOnSigterm& operator=(const DrainOnSigterm&) = delete;

 private:
  struct sigaction before_ = {};
};

// Takes the highest allowed core for itself, the next lower one for the next server of the node. A launcher that has bound the rank
// already decided; with more ranks than cores, pinning would only hurt.
void pin(const std::vector<int>& node_of, int rank) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const auto ranks_here = std::count(node_of.begin(), node_of.end(), node_of[static_cast<std::size_t>(rank)]);
  const bool one_node = std::all_of(node_of.begin(), node_of.end(), [&](int node) { return node == node_of[0]; });
  if (CPU_COUNT(&allowed) < ranks_here || (!one_node && std::getenv("DAMARIS_RANKS_PER_NODE") != nullptr)) return;
  long later = 0;  // ranks of this node after this one
  for (std::size_t other = static_cast<std::size_t>(rank) + 1; other < node_of.size(); ++other)
    later += node_of[other] == node_of[static_cast<std::size_t>(rank)] ? 1 : 0;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (!CPU_ISSET(cpu, &allowed) || later-- > 0) continue;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) == 0) log_line(LogLevel::info, format("pinned to core {}", cpu));
    return;
  }
}

}  // namespace

server::CallResult serve(server::Server& server, const model::Model& model, const std::vector<int>& node_of, int rank) {
  if (model.architecture.pin) pin(node_of, rank);
  const DrainOnSigterm drain;
  return server.run(&stop);
}

}  // namespace damaris::mpi
