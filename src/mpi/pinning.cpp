#include "mpi/pinning.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::mpi {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

struct Free {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using Set = std::unique_ptr<hwloc_bitmap_s, Free>;

// The part of this machine that the calling thread may use; null if hwloc cannot determine it, or describes another machine.
Topology allowed_topology() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  Topology topology(made);
  if (hwloc_topology_load(made) != 0 || hwloc_topology_is_thissystem(made) == 0) return nullptr;
  const Set allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(made, allowed.get(), HWLOC_CPUBIND_THREAD) != 0) return nullptr;
  if (hwloc_topology_restrict(made, allowed.get(), 0) != 0) return nullptr;
  return topology;
}

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

std::vector<int> processors_of(hwloc_topology_t topology, const NodeRanks& node) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PU}) {
    const int places = hwloc_get_nbobjs_by_type(topology, type);
    if (places < node.ranks) continue;
    const auto last = static_cast<unsigned>((node.index + 1) * places / node.servers - 1);
    std::vector<int> result;
    unsigned processor = 0;
    hwloc_bitmap_foreach_begin(processor, hwloc_get_obj_by_type(topology, type, last)->cpuset)
        result.push_back(static_cast<int>(processor));
    hwloc_bitmap_foreach_end();
    return result;
  }
  return {};
}

void pin_server(const std::vector<int>& node_of, int rank, int servers) {
  if (has_virtual_nodes(node_of)) return;
  const Topology topology = allowed_topology();
  if (topology == nullptr) return log_line(LogLevel::info, "hwloc cannot determine the topology: the dedicated core is not pinned");
  const std::vector<int> processors = processors_of(topology.get(), ranks_of_node(node_of, rank, servers));
  if (processors.empty()) return log_line(LogLevel::info, "not pinned: there are more ranks than processors for them");
  const Set mine(hwloc_bitmap_alloc());
  for (const int processor : processors) hwloc_bitmap_set(mine.get(), static_cast<unsigned>(processor));
  if (hwloc_set_cpubind(topology.get(), mine.get(), HWLOC_CPUBIND_THREAD) != 0)
    return log_line(LogLevel::info, format("the dedicated core is not pinned: {}", std::strerror(errno)));
  log_line(LogLevel::info, format("pinned to processor{} {}", processors.size() > 1 ? "s" : "", fmt::join(processors, ", ")));
}

}  // namespace damaris::mpi
