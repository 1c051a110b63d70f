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

// Which of `servers` the client at `place` among `clients` belongs to: contiguous shares that differ by at most one.
int server_of(int place, int clients, int servers) { return static_cast<int>(static_cast<long long>(place) * servers / clients); }

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
  for (int node = 0; static_cast<int>(node_of.size()) < ranks; ++node)
    node_of.insert(node_of.end(),
                   static_cast<std::size_t>(sizes[std::min<std::size_t>(static_cast<std::size_t>(node), sizes.size() - 1)]), node);
  node_of.resize(static_cast<std::size_t>(ranks));
  return node_of;
}

Role role_of(int rank, const std::vector<int>& node_of, int dedicated) {
  const auto nodes = ranks_by_node(node_of);
  Role role;
  role.server_count = static_cast<int>(nodes.size()) * dedicated;
  int source = 0;  // of the next client, over all nodes
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::vector<int>& ranks = nodes[node];
    const int clients = static_cast<int>(ranks.size()) - dedicated;
    if (clients < dedicated)
      throw Error(DC_E_PLACEMENT, format("node {} has {} ranks, too few for {} dedicated cores with at least one client each; "
                                         "start more ranks per node or set <dedicated cores=...> lower",
                                         node, ranks.size(), dedicated));
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    if (found != ranks.end()) {
      const int place = static_cast<int>(found - ranks.begin());
      role.node = static_cast<int>(node);
      role.server = place >= clients;
      const int local_server = role.server ? place - clients : server_of(place, clients, dedicated);
      role.server_index = static_cast<int>(node) * dedicated + local_server;
      role.source = source + place;
      for (int other = 0; other < clients; ++other) {
        if (server_of(other, clients, dedicated) != local_server) continue;
        if (other < place) ++role.slot;
        role.group_sources.push_back(source + other);
      }
      role.group_clients = static_cast<int>(role.group_sources.size());
    }
    source += clients;
  }
  return role;
}

}  // namespace damaris::mpi
