#include "mpi/placement.hpp"

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::mpi {
namespace {

// The ranks of each node, nodes in order of their lowest rank.
std::vector<std::vector<int>> ranks_by_node(const std::vector<int>& node_of) {
  std::vector<std::vector<int>> nodes;
  std::map<int, std::size_t> seen;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    const auto [entry, fresh] = seen.emplace(node_of[rank], nodes.size());
    if (fresh) nodes.emplace_back();
    nodes[entry->second].push_back(static_cast<int>(rank));
  }
  return nodes;
}

// The server of the client at `place` among `clients`: contiguous shares that differ by at most one.
int server_of(int place, int clients, int servers) { return static_cast<int>(static_cast<long long>(place) * servers / clients); }

// Numbers the clients in the order of their ranks, as in the clients' communicator; -1 for a server.
std::vector<int> sources_by_rank(const std::vector<std::vector<int>>& nodes, std::size_t ranks, int dedicated) {
  std::vector<int> sources(ranks, 0);
  for (const std::vector<int>& node : nodes)
    for (auto server = node.end() - dedicated; server != node.end(); ++server) sources[static_cast<std::size_t>(*server)] = -1;
  int next = 0;
  for (int& source : sources)
    if (source == 0) source = next++;
  return sources;
}

std::string counted(std::size_t number, const char* what) { return format("{} {}{}", number, what, number == 1 ? "" : "s"); }

// The remedy for a node with too few ranks. A single rank in total usually means that the launcher belongs to another MPI.
std::string remedy(std::size_t ranks) {
  if (ranks > 1) return "start more ranks per node or set <dedicated cores=...> lower";
  return "the program runs as one rank alone: start it with mpirun or srun, and with those of the MPI it was built with, because "
         "the launcher of another MPI starts each rank as a world of its own; or set <dedicated cores=\"0\"/>";
}

void require_clients(const std::vector<std::vector<int>>& nodes, std::size_t ranks, int dedicated) {
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (static_cast<int>(nodes[node].size()) < 2 * dedicated)
      throw Error(
          DC_E_PLACEMENT,
          format("node {} has {}, too few for {} with at least one client{}; {}", node, counted(nodes[node].size(), "rank"),
                 counted(static_cast<std::size_t>(dedicated), "dedicated core"), dedicated == 1 ? "" : " each", remedy(ranks)));
}

Role role_on(const std::vector<int>& ranks, int rank, int dedicated, const std::vector<int>& sources) {
  Role role;
  const int clients = static_cast<int>(ranks.size()) - dedicated;
  const int place = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  role.server = place >= clients;
  role.server_index = role.server ? place - clients : server_of(place, clients, dedicated);
  role.source = sources[static_cast<std::size_t>(rank)];
  for (int other = 0; other < clients; ++other) {
    if (server_of(other, clients, dedicated) != role.server_index) continue;
    if (other < place) ++role.slot;
    role.group_sources.push_back(sources[static_cast<std::size_t>(ranks[static_cast<std::size_t>(other)])]);
  }
  role.group_clients = static_cast<int>(role.group_sources.size());
  return role;
}

}  // namespace

std::vector<int> virtual_nodes(const std::string& list, int ranks) {
  std::vector<int> sizes;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    const bool number = !item.empty() && item.size() < 9 && item.find_first_not_of("0123456789") == std::string::npos;
    if (!number || std::stoi(item) == 0)
      throw Error(
          DC_E_CONFIG,
          format("DAMARIS_RANKS_PER_NODE='{}': '{}' is no positive number; write a list such as \"3\" or \"3,5\"", list, item));
    sizes.push_back(std::stoi(item));
    begin = end + 1;
  }
  std::vector<int> node_of;
  const auto wanted = static_cast<std::size_t>(ranks);
  for (std::size_t node = 0; node_of.size() < wanted; ++node) {
    const auto size = static_cast<std::size_t>(sizes[std::min(node, sizes.size() - 1)]);
    node_of.insert(node_of.end(), std::min(size, wanted - node_of.size()), static_cast<int>(node));
  }
  return node_of;
}

Role role_of(int rank, const std::vector<int>& node_of, int dedicated) {
  const auto nodes = ranks_by_node(node_of);
  require_clients(nodes, node_of.size(), dedicated);
  const auto mine = std::find_if(nodes.begin(), nodes.end(), [&](const std::vector<int>& node) {
    return std::find(node.begin(), node.end(), rank) != node.end();
  });
  Role role = role_on(*mine, rank, dedicated, sources_by_rank(nodes, node_of.size(), dedicated));
  role.node = static_cast<int>(mine - nodes.begin());
  role.server_index += role.node * dedicated;
  role.server_count = static_cast<int>(nodes.size()) * dedicated;
  return role;
}

}  // namespace damaris::mpi
