#include "mpi/serve.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "mpi/pinning.hpp"

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

// The servers are the last ranks of their node.
NodeRanks ranks_of_node(const std::vector<int>& node_of, int rank, int servers) {
  const int node = node_of[static_cast<std::size_t>(rank)];
  const auto here = node_of.begin() + rank;
  return {static_cast<int>(std::count(node_of.begin(), node_of.end(), node)), servers,
          servers - 1 - static_cast<int>(std::count(here + 1, node_of.end(), node))};
}

// True if one machine is split into several virtual nodes, whose ranks share its cores.
bool has_virtual_nodes(const std::vector<int>& node_of) {
  return std::getenv("DAMARIS_RANKS_PER_NODE") != nullptr &&
         std::adjacent_find(node_of.begin(), node_of.end(), std::not_equal_to<>()) != node_of.end();
}

}  // namespace

Status serve(server::Serving& server, const model::Model& model, const std::vector<int>& node_of, int rank) {
  if (model.architecture.pin && !has_virtual_nodes(node_of))
    pin_server(ranks_of_node(node_of, rank, model.architecture.dedicated_cores));
  const DrainOnSigterm drain;
  return server.run(&stop);
}

}  // namespace damaris::mpi
