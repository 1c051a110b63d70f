// A server that is asked to stop (SIGTERM) stores what was published and returns; its clients get the error, the other node goes on.
#include <algorithm>
#include <csignal>

#include "job.hpp"

namespace damaris::test {
namespace {

TEST_CASE("SIGTERM to a server rank: it stores what was published, its clients learn that it has ended, other nodes go on") {
  const char* scope = GENERATE("node", "global");
  Job job(5, "3,2");
  if (job.member()) {
    std::vector<int> pids(5);
    const int pid = static_cast<int>(::getpid());
    MPI_Allgather(&pid, 1, MPI_INT, pids.data(), 1, MPI_INT, job.world());
    const Started started = job.start(xml(
        1, kRecorder + "<event name='e' action='record' using='damaris_test_recorder.so' scope='" + std::string(scope) + "'/>"));
    if (job.rank() == 2) {
      CHECK(started.code == DC_E_STOPPED);
      CHECK(started.sentence == "asked to stop: what was published is stored, open steps are partial");
    } else {
      REQUIRE(started.code == DC_OK);
    }
    if (started.is_client != 0) {
      const std::vector<double> data(16, 1.0);
      CHECK(dc_write("x", 0, data.data()) == DC_OK);
      CHECK(dc_end_iteration(0) == DC_OK);
      CHECK(dc_flush(0, 30'000) == DC_OK);
      CHECK(dc_write("x", 1, data.data()) == DC_OK);
      wait_for_all(started.clients);
      if (job.rank() == 0) ::kill(pids[2], SIGTERM);
      if (job.rank() < 2) {
        // Until the server has seen the signal it takes what comes.
        int step = 1;
        while (dc_end_iteration(step) == DC_OK) ++step;
        CHECK_THAT(dc_last_error(), Catch::Contains("has ended: it "));
        CHECK(dc_flush(0, 10) == DC_E_SERVER_LOST);
        CHECK(dc_signal("e", step) == DC_E_SERVER_LOST);
        CHECK(dc_finalize() == DC_E_SERVER_LOST);
      } else {
        CHECK(dc_end_iteration(1) == DC_OK);
        CHECK(dc_finalize() == DC_OK);
      }
    }
  }
  job.together();
  CHECK(job.lines(0, "step 0 complete 1 time -1 datasets 2 x:0.0=128:16 x:1.0=128:16").size() == 1);
  CHECK(job.lines(0, "step 1 complete 1 time -1 datasets 2 x:0.0=128:16 x:1.0=128:16").size() == 1);
  CHECK(job.lines(1, "step 1 complete 1 time -1 datasets 1 x:2.0=128:16").size() == 1);
  CHECK(job.lines(0, "finalize").size() == 1);
  CHECK(job.regions().empty());
}

TEST_CASE("a client that finalizes early lets the others go on") {
  Job job(4, "4");
  if (job.member()) {
    const Started started = job.start(xml(1));
    REQUIRE(started.code == DC_OK);
    if (started.is_client != 0) {
      const std::vector<double> data(16, 1.0);
      const int last = rank_in(started.clients);
      for (int step = 0; step <= last; ++step) {
        CHECK(dc_write("x", step, data.data()) == DC_OK);
        CHECK(dc_end_iteration(step) == DC_OK);
      }
      CHECK(dc_finalize() == DC_OK);
    }
  }
  job.together();
  CHECK(job.lines(0, "step 0 complete 1 time -1 datasets 3 ").size() == 1);
  CHECK(job.lines(0, "step 1 complete 1 time -1 datasets 2 x:1.0=128:16 x:2.0=128:16 absent:0").size() == 1);
  CHECK(job.lines(0, "step 2 complete 1 time -1 datasets 1 x:2.0=128:16 absent:0 absent:1").size() == 1);
}

}  // namespace
}  // namespace damaris::test
