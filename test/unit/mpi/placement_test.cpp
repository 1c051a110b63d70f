#include "mpi/placement.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"
#include "support/errors.hpp"

namespace damaris::test {
namespace {

using mpi::Role;
using mpi::role_of;
using mpi::virtual_nodes;

std::vector<Role> roles(const std::vector<int>& node_of, int dedicated) {
  std::vector<Role> all;
  for (int rank = 0; rank < static_cast<int>(node_of.size()); ++rank) all.push_back(role_of(rank, node_of, dedicated));
  return all;
}

TEST_CASE("a list of virtual nodes groups consecutive ranks, and its last number repeats") {
  CHECK(virtual_nodes("3", 8) == std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2});
  CHECK(virtual_nodes("3,5", 8) == std::vector<int>{0, 0, 0, 1, 1, 1, 1, 1});
  CHECK(virtual_nodes("1,2", 6) == std::vector<int>{0, 1, 1, 2, 2, 3});
  CHECK(virtual_nodes("99999999", 2) == std::vector<int>{0, 0});
}

TEST_CASE("an invalid list of virtual nodes is refused with the wrong item") {
  for (const auto& [list, item] : std::vector<std::pair<std::string, std::string>>{
           {"three", "three"}, {"3,", ""}, {"0", "0"}, {"3,-1", "-1"}, {"3 5", "3 5"}, {"999999999999", "999999999999"}}) {
    const Error error = error_of([&, list = list] { virtual_nodes(list, 4); });
    CHECK(error.code() == DC_E_CONFIG);
    CHECK(error.sentence() ==
          "DAMARIS_RANKS_PER_NODE='" + list + "': '" + item + "' is no positive number; write a list such as \"3\" or \"3,5\"");
  }
}

TEST_CASE("the last ranks of each node are its servers, even on unequal nodes") {
  const auto all = roles(virtual_nodes("3,5", 8), 1);
  for (const int rank : {0, 1, 3, 4, 5, 6}) CHECK_FALSE(all[static_cast<std::size_t>(rank)].server);
  for (const int rank : {2, 7}) CHECK(all[static_cast<std::size_t>(rank)].server);
  CHECK(all[2].server_index == 0);
  CHECK(all[7].server_index == 1);
  CHECK(all[0].group_sources == std::vector<int>{0, 1});
  CHECK(all[7].group_sources == std::vector<int>{2, 3, 4, 5});
  for (const Role& role : all) CHECK(role.server_count == 2);
}

TEST_CASE("rule 14: the clients of a node are split contiguously among its servers, shares differ by at most one") {
  for (int clients = 1; clients <= 9; ++clients)
    for (int servers = 1; servers <= std::min(clients, 4); ++servers) {
      const auto all = roles(std::vector<int>(static_cast<std::size_t>(clients + servers), 0), servers);
      std::vector<int> shares(static_cast<std::size_t>(servers), 0);
      for (int rank = 0; rank < clients; ++rank) {
        const Role& role = all[static_cast<std::size_t>(rank)];
        CHECK(role.source == rank);
        CHECK(role.slot == shares[static_cast<std::size_t>(role.server_index)]++);
        if (rank > 0) CHECK(role.server_index - all[static_cast<std::size_t>(rank - 1)].server_index <= 1);
      }
      const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
      CHECK(*least >= 1);
      CHECK(*most - *least <= 1);
    }
}

TEST_CASE("clients and server of a group agree on its clients and their slots") {
  const auto all = roles(virtual_nodes("4,6", 10), 2);
  for (const Role& server : all) {
    if (!server.server) continue;
    std::vector<int> attached(server.group_sources.size(), -1);
    for (const Role& client : all)
      if (!client.server && client.server_index == server.server_index) {
        CHECK(client.group_sources == server.group_sources);
        attached[static_cast<std::size_t>(client.slot)] = client.source;
      }
    CHECK(attached == server.group_sources);
    CHECK(server.group_clients == static_cast<int>(attached.size()));
  }
}

TEST_CASE("clients are numbered in the order of their ranks, even if ranks are placed round-robin on nodes") {
  const auto all = roles({5, 9, 5, 9, 5, 9}, 1);
  std::vector<int> sources;
  for (const Role& role : all) sources.push_back(role.source);
  CHECK(sources == std::vector<int>{0, 1, 2, 3, -1, -1});
  CHECK(all[0].group_sources == std::vector<int>{0, 2});
  CHECK(all[1].group_sources == std::vector<int>{1, 3});
  CHECK(all[4].server_index == 0);
  CHECK(all[5].server_index == 1);
}

TEST_CASE("a node with fewer clients than servers is refused and named") {
  const Error error = error_of([] { role_of(0, virtual_nodes("4,3", 7), 2); });
  CHECK(error.code() == DC_E_PLACEMENT);
  CHECK(error.sentence() ==
        "node 1 has 3 ranks, too few for 2 dedicated cores with at least one client each; start more ranks per node or set "
        "<dedicated cores=...> lower");
  CHECK(error_of([] {
          role_of(0, {0, 0, 1}, 1);
        }).sentence() ==
        "node 1 has 1 rank, too few for 1 dedicated core with at least one client; start more ranks per node or set "
        "<dedicated cores=...> lower");
  CHECK_NOTHROW(role_of(0, {0, 0}, 1));
}

TEST_CASE("for a rank that is alone in the world the message says how to start it") {
  const Error error = error_of([] { role_of(0, {0}, 1); });
  CHECK(error.code() == DC_E_PLACEMENT);
  CHECK_THAT(error.sentence(), Catch::StartsWith("node 0 has 1 rank, too few for 1 dedicated core with at least one client; ") &&
                                   Catch::Contains("start it with mpirun or srun") &&
                                   Catch::Contains("the launcher of another MPI"));
}

}  // namespace
}  // namespace damaris::test
