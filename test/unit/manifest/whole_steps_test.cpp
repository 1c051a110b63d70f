// Whether a step is whole: by what the servers of a run were to deliver, and by what their logs say.
#include <catch2/catch.hpp>

#include <map>

#include "manifest/manifest.hpp"
#include "support/temp_folder.hpp"
#include "unit/manifest/hand_log.hpp"

namespace damaris::manifest {
namespace {

using test::HandLog;
using Reasons = std::vector<std::string>;

class Run {
 public:
  explicit Run(int servers) : servers_(servers) {}
  HandLog& of(int server, const std::string& host = "n") {
    const LogName name = {1, host, server};
    return logs_.try_emplace({host, server}, folder_.file("storm"), name, servers_).first->second;
  }
  Reasons why(std::int64_t step) const {
    Manifest manifest(folder_.file("storm"));
    manifest.read_on();
    CHECK(manifest.damaged().empty());
    CHECK(manifest.steps().at(step).complete == manifest.why_partial(step).empty());
    return manifest.why_partial(step);
  }
  bool whole(std::int64_t step) const { return why(step).empty(); }
  bool ended() const {
    Manifest manifest(folder_.file("storm"));
    manifest.read_on();
    return manifest.has_ended();
  }

 private:
  test::TempFolder folder_;
  int servers_;
  std::map<std::pair<std::string, int>, HandLog> logs_;
};

const Reasons kLacksOne = {"servers that did not report it: n/1"};

}  // namespace

TEST_CASE("a step that only some servers of a run have recorded is not whole") {
  Run run(2);
  for (const int server : {0, 1}) run.of(server).stores(1);
  run.of(0).stores(2);
  CHECK(run.whole(1));
  CHECK(run.why(2) == kLacksOne);
}

TEST_CASE("a server without a log has delivered nothing") {
  Run run(3);
  run.of(1).stores(1);
  CHECK(run.why(1) == Reasons{"servers that did not report it: 0 (without a log), 2 (without a log)"});
}

TEST_CASE("a record that is marked as incomplete without a reason makes its step partial") {
  Run run(1);
  StepEntry step;
  step.step = 1;
  step.complete = false;
  run.of(0).add(step);
  CHECK(run.why(1) == Reasons{"its record marks it as incomplete"});
}

TEST_CASE("a server that records a later step with all its clients had no data of the steps before") {
  Run run(2);
  for (const int step : {1, 2}) run.of(0).stores(step);
  SECTION("all are there") {
    run.of(1).stores(2);
    CHECK(run.whole(1));
  }
  SECTION("one is missing, since an unknown step") {
    run.of(1).stores(2, {4});
    CHECK(run.why(1) == kLacksOne);
    CHECK(run.why(2) == Reasons{"clients that never ended it: 4"});
  }
}

TEST_CASE("a server that has ended has delivered all but what its lost clients have not") {
  Run run(2);
  for (const int step : {1, 2, 3}) run.of(0).stores(step);
  SECTION("none is lost") {
    run.of(1).ends();
    for (const int step : {1, 2, 3}) CHECK(run.whole(step));
  }
  SECTION("one after step 2, recovered or not") {
    run.of(1).ends({{{7, 2}}, 0}, GENERATE(true, false));
    CHECK(run.whole(2));
    CHECK(run.why(3) == Reasons{"clients that never ended it: 7"});
  }
  SECTION("one never came") {
    run.of(1).ends({{}, 1});
    CHECK(run.why(1) == Reasons{"clients that never attached: 1"});
  }
}

TEST_CASE("a server that was killed and comes back has lost the steps in between; one that had ended has not") {
  Run run(2);
  for (const int step : {1, 2, 3, 4, 5}) run.of(0).stores(step);
  run.of(1).stores(2);
  const bool had_ended = GENERATE(true, false);
  if (had_ended) run.of(1).ends();
  run.of(1).comes_back();
  CHECK(run.why(3) == kLacksOne);
  run.of(1).stores(5);
  for (const int step : {1, 2, 5}) CHECK(run.whole(step));
  for (const int step : {3, 4}) CHECK(run.whole(step) == had_ended);
}

TEST_CASE("of independent servers those that have a log have to deliver") {
  Run run(0);
  run.of(0, "a").stores(1);
  CHECK(run.whole(1));
  run.of(0, "b").comes_back();
  CHECK(run.why(1) == Reasons{"servers that did not report it: b/0"});
}

TEST_CASE("a run has ended when each server has, without losing a client and not by a recovery") {
  Run run(2);
  run.of(0).stores(1);
  run.of(0).ends();
  CHECK_FALSE(run.ended());
  SECTION("it has") {
    run.of(1).ends();
    CHECK(run.ended());
    run.of(1).comes_back();
    CHECK_FALSE(run.ended());
  }
  SECTION("with a loss") {
    run.of(1).ends({{{3, 1}}, 0});
    CHECK_FALSE(run.ended());
  }
  SECTION("recovered") {
    run.of(1).ends({}, true);
    CHECK_FALSE(run.ended());
  }
}

TEST_CASE("of thousands of servers that lack a step the first are named and the others are counted") {
  Run run(10'000);
  run.of(0).stores(1);
  CHECK_THAT(run.why(1).at(0), Catch::EndsWith("20 (without a log) and 9979 others"));
}

}  // namespace damaris::manifest
