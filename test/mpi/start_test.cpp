// Starting inside an MPI program: which ranks become servers, what the clients' communicator is, and that all ranks return.
#include <algorithm>

#include "job.hpp"

namespace damaris::test {
namespace {

// One step of every client; what its server has stored of it is looked at afterwards.
void write_one_step(const Started& started) {
  const std::vector<double> data(16, 1.0 + rank_in(started.clients));
  CHECK(dc_write("x", 0, data.data()) == DC_OK);
  CHECK(dc_end_iteration(0) == DC_OK);
  CHECK(dc_finalize() == DC_OK);
}

// Runs with `cores` servers a node; `servers` are the ranks that shall become servers, `clients_of` the ids on each server.
void check_split(int ranks, const std::string& nodes, int cores, const std::vector<int>& servers,
                 const std::vector<std::vector<int>>& clients_of) {
  Job job(ranks, nodes);
  if (job.member()) {
    Started started = job.start(xml(cores));
    INFO(started.sentence);
    REQUIRE(started.code == DC_OK);
    const bool server = std::find(servers.begin(), servers.end(), job.rank()) != servers.end();
    REQUIRE(started.is_client == (server ? 0 : 1));
    if (server) {
      CHECK(started.clients == MPI_COMM_NULL);
    } else {
      CHECK(size_of(started.clients) == ranks - static_cast<int>(servers.size()));
      const auto before = std::count_if(servers.begin(), servers.end(), [&](int rank) { return rank < job.rank(); });
      CHECK(rank_in(started.clients) == job.rank() - before);
      write_one_step(started);
      MPI_Comm_free(&started.clients);
    }
  }
  job.together();
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  for (std::size_t server = 0; server < clients_of.size(); ++server) {
    const auto lines = job.lines(static_cast<int>(server), "step 0");
    REQUIRE(lines.size() == 1);
    std::string expected = "datasets " + std::to_string(clients_of[server].size());
    for (const int id : clients_of[server]) expected += " x:" + std::to_string(id) + ".0=128:" + std::to_string(16 * (id + 1));
    CHECK(lines[0].find(expected) != std::string::npos);
    CHECK(job.lines(static_cast<int>(server), "finalize").size() == 1);
  }
  CHECK(job.lines(static_cast<int>(clients_of.size())).empty());
  CHECK(job.regions().empty());
}

TEST_CASE("one node, one server: the last rank serves, the others are clients in their order") {
  check_split(4, "4", 1, {3}, {{0, 1, 2}});
}

TEST_CASE("without virtual nodes, what shares memory is one node") { check_split(3, "", 1, {2}, {{0, 1}}); }

TEST_CASE("two unequal nodes with one server each") { check_split(8, "3,5", 1, {2, 7}, {{0, 1}, {2, 3, 4, 5}}); }

TEST_CASE("three nodes from one number, the last one smaller") { check_split(8, "3", 1, {2, 5, 7}, {{0, 1}, {2, 3}, {4}}); }

TEST_CASE("rule 14: two unequal nodes with two servers each, the clients split contiguously, one region each") {
  check_split(10, "4,6", 2, {2, 3, 8, 9}, {{0}, {1}, {2, 3}, {4, 5}});
}

TEST_CASE("rule 14: one node with two servers and three clients") { check_split(5, "5", 2, {3, 4}, {{0, 1}, {2}}); }

TEST_CASE("in place every rank is a client and serves itself") {
  Job job(3);
  if (job.member()) {
    Started started = job.start(xml(0));
    INFO(started.sentence);
    REQUIRE(started.code == DC_OK);
    CHECK(started.is_client == 1);
    REQUIRE(size_of(started.clients) == 3);
    CHECK(rank_in(started.clients) == job.rank());
    write_one_step(started);
    MPI_Comm_free(&started.clients);
  }
  job.together();
  for (int server = 0; server < 3; ++server) {
    REQUIRE(job.lines(server, "step 0").size() == 1);
    CHECK(job.lines(server, "step 0")[0].find("datasets 1 x:" + std::to_string(server) + ".0=") != std::string::npos);
  }
}

TEST_CASE("a part of the ranks can start on its own, and start again after the end") {
  for (int round = 0; round < 2; ++round) check_split(4, "4", 1, {3}, {{0, 1, 2}});
}

TEST_CASE("a second start of the clients is refused while their servers serve, and the first goes on") {
  const int cores = GENERATE(0, 1);
  Job job(4, "4");
  if (job.member()) {
    const Started first = job.start(xml(cores));
    REQUIRE(first.code == DC_OK);
    if (first.is_client != 0) {
      const Started second = job.start_with(job.file("job.xml"));
      CHECK(second.code == DC_E_ALREADY_INITIALIZED);
      CHECK(second.sentence == "Damaris is already initialized in this process; call dc_finalize before a second dc_initialize");
      write_one_step(first);
    }
  }
  job.together();
}

}  // namespace
}  // namespace damaris::test
