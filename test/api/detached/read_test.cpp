// Reading back through a detached server, while clients or servers die or stop.
#include "core/shm/region.hpp"
#include "run.hpp"

namespace damaris::test {
namespace {

const std::string kStorage = "<storage>" + Run::kRecorder + "</storage>";

// Until the question of the first client lies in its lane.
void wait_for_question(const shm::FoundRegion& found) {
  const shm::Region region = shm::Region::attach(found.name);
  const auto* lane = reinterpret_cast<const shm::LaneHeader*>(region.at(region.span(0).lane_offset));
  REQUIRE(wait_until([&] { return lane->head.load() != lane->tail.load(); }));
}

TEST_CASE("clients of a detached server read what its storage finds, and the run goes on") {
  Run run("<clients count='2'/>", kStorage);
  TestClient &first = run.attached(0), &second = run.attached(1);
  first.must("read 5");
  second.must("read 6");
  const Answer missing = second("read 13");
  CHECK(missing.code == DC_E_NOT_STORED);
  CHECK(missing.sentence == "plugin 'recorder' failed in on_read of 'x' of step 13: nobody stored step 13");
  for (TestClient* client : {&first, &second}) {
    client->must("write 0");
    client->must("end 0");
    client->must("read 200");
    client->ask("finalize");  // waits for the other
  }
  for (TestClient* client : {&first, &second}) CHECK(client->answer().code == DC_OK);
  CHECK(run.ends());
  CHECK(run.lines("read").size() == 5);
  CHECK(run.lines(" complete ").size() == 1);
}

TEST_CASE("a client that is killed while it reads leaves nothing behind that stops the others") {
  Run run("<clients count='2'/>", kStorage);
  TestClient &first = run.attached(0), &second = run.attached(1);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  first.ask("read 5");
  wait_for_question(region);
  first.process().kill(SIGKILL);
  first.process().wait();
  ::kill(region.server_pid, SIGCONT);
  second.must("read 6");
  second.must("write 0");
  Answer answer = second("end 0");
  if (answer.code == DC_OK) answer = second("flush 0 60000");
  CHECK(answer.code == DC_E_EARLIER_IO);
  CHECK_THAT(answer.sentence, Catch::StartsWith("client 0 died"));
  second.must("finalize");
  CHECK(run.ends());
}

TEST_CASE("a server that is stopped is a time-out of the read, one that is killed a loss") {
  Run run("<clients count='1'/><server read-timeout='200ms'/><buffer size='1MiB'/>", kStorage);
  TestClient& client = run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  const Answer late = client("read 5");
  CHECK(late.code == DC_E_TIMEOUT);
  CHECK_THAT(late.sentence, Catch::StartsWith("'x' of step 5 is not read after 200 ms: waited for server 0 on "));
  ::kill(region.server_pid, SIGCONT);
  client.must("write 1");
  client.must("end 1");
  client.must("flush 1 60000");
  CHECK(wait_until([&] { return client("read 6").code == DC_OK; }));  // within the same 200 ms, which may be too few
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  CHECK(client("read 7").code == DC_E_SERVER_LOST);
}

}  // namespace
}  // namespace damaris::test
