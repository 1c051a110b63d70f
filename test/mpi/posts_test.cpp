// Plugins that talk to themselves on other servers.
#include "job.hpp"

namespace damaris::test {
namespace {

TEST_CASE("messages of plugins to server 0 arrive, are answered, and all of them before the end") {
  constexpr int kSteps = 5;
  Job job(7, "3,2,2");
  if (job.member()) {
    const Started started = job.start(xml(1, "<plugin name='pieces' using='damaris_test_pieces.so'/>"));
    REQUIRE(started.code == DC_OK);
    if (started.is_client != 0) {
      const std::vector<double> data(16, 1.0);
      for (int step = 0; step < kSteps; ++step) {
        CHECK(dc_write("x", step, data.data()) == DC_OK);
        CHECK(dc_end_iteration(step) == DC_OK);
      }
      CHECK(dc_finalize() == DC_OK);
    }
  }
  job.together();
  for (int server = 0; server < 3; ++server) {
    CHECK(job.lines(server, "stored " + std::to_string(server)).size() == kSteps);
    CHECK(job.lines(0, "report of " + std::to_string(server)).size() == kSteps);
  }
  CHECK(job.lines(0, "").back() == "finalize 0 step -1");
  CHECK(job.regions().empty());
}

// What stayed under way in MPI was received by a later run in the same processes, in place of one of its own messages.
TEST_CASE("what a plugin answers while all servers leave still arrives, in each of several runs") {
  for (int run = 0; run < 10; ++run) {
    Job job(4, "2");
    if (job.member()) {
      const Started started = job.start(xml(1, "<plugin name='pieces' using='damaris_test_pieces.so'/>"));
      REQUIRE(started.code == DC_OK);
      if (started.is_client != 0) {
        CHECK(dc_end_iteration(0) == DC_OK);
        CHECK(dc_finalize() == DC_OK);
      }
    }
    job.together();
    if (rank_in(MPI_COMM_WORLD) == 0) CHECK(job.lines(1, "leave of 0").size() == 1);
    job.together();
  }
}

}  // namespace
}  // namespace damaris::test
