#include "mpi/pinning.hpp"

#include <hwloc/glibc-sched.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/base/format.hpp"
#include "core/base/log.hpp"

namespace damaris::mpi {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

// This machine's part that the calling thread may use; null where hwloc cannot tell.
Topology allowed_topology(const cpu_set_t& allowed) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  Topology topology(made);
  if (hwloc_topology_load(made) != 0) return nullptr;
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_cpuset_from_glibc_sched_affinity(made, set.get(), &allowed, sizeof allowed) != 0) return nullptr;
  if (hwloc_topology_restrict(made, set.get(), 0) != 0) return nullptr;
  return topology;
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

void pin_server(const NodeRanks& node) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const Topology topology = allowed_topology(allowed);
  if (topology == nullptr) return log_line(LogLevel::info, "hwloc does not know this machine: the dedicated core is not pinned");
  const std::vector<int> processors = processors_of(topology.get(), node);
  if (processors.empty()) return;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &mine);
  if (sched_setaffinity(0, sizeof mine, &mine) != 0)
    return log_line(LogLevel::info, format("the dedicated core is not pinned: {}", std::strerror(errno)));
  log_line(LogLevel::info, format("pinned to processor{} {}", processors.size() > 1 ? "s" : "", fmt::join(processors, ", ")));
}

}  // namespace damaris::mpi
