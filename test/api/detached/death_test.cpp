// Clients and servers that die, stop or are asked to stop, without MPI.
#include "run.hpp"

namespace damaris::test {
namespace {

void write_step(TestClient& client, int step) {
  client.must("write " + std::to_string(step));
  client.must("end " + std::to_string(step));
}

void kill_server(const shm::FoundRegion& region) {
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
}

TEST_CASE("a client that is killed leaves a partial step, and the others go on") {
  const bool has_child = GENERATE(false, true);  // that lives on
  Run run("<clients count='2'/>");
  TestClient &first = run.attached(0), &second = run.attached(1);
  write_step(first, 0);
  write_step(second, 0);
  second.must("write 1");
  if (has_child) second.must("fork");
  second.process().kill(SIGKILL);
  second.process().wait();
  first.must("write 1");
  Answer answer = first("end 1");
  if (answer.code == DC_OK) answer = first("flush 1 60000");
  CHECK(answer.code == DC_E_EARLIER_IO);
  CHECK(answer.sentence == "client 1 died after step 0; it is missing from later steps");
  write_step(first, 2);
  first.must("flush 2 60000");
  first.must("finalize");
  CHECK(run.ends());
  CHECK_THAT(run.lines("step 0").at(0), Catch::EndsWith("datasets 2 x:0.0=128:0 x:1.0=128:0"));
  CHECK_THAT(run.lines("step 1").at(0), Catch::EndsWith("datasets 2 x:0.0=128:16 x:1.0=128:16 missing:1"));
  CHECK_THAT(run.lines("step 2").at(0), Catch::EndsWith("datasets 1 x:0.0=128:32 missing:1"));
}

TEST_CASE("what a killed client had allocated of a shared pool comes back to the others") {
  Run run("<clients count='2'/><buffer size='64KiB' split='shared' timeout='60s'/>");
  TestClient &first = run.attached(0), &second = run.attached(1);
  second.must("write 0 1000");
  second.must("alloc 0 335");  // blocks of 192 bytes: all but 5
  second.process().kill(SIGKILL);
  second.process().wait();
  for (int block = 0; block < 20; ++block) first.must("write 0 " + std::to_string(block));
  (void)first("end 0");
  (void)first("finalize");
  CHECK(run.ends());
  CHECK_THAT(run.lines("step 0").at(0), Catch::Contains("datasets 21 ") && Catch::Contains("x:1.1000=128:0 missing:1"));
}

TEST_CASE("a run whose clients are all killed is stored as far as it came, and its server leaves") {
  Run run("<clients count='2'/>");
  for (int id = 0; id < 2; ++id) run.attached(id).must("write 3");
  for (int id = 0; id < 2; ++id) run.client(id).process().kill(SIGKILL);
  CHECK(run.ends());
  CHECK_THAT(run.lines("step 3").at(0), Catch::EndsWith("datasets 2 x:0.0=128:48 x:1.0=128:48 missing:0 missing:1"));
}

TEST_CASE("when the server is killed, end of step, flush, signal and finalize say so; a write does not notice") {
  Run run("<clients count='1'/>", Run::kRecorder + "<event name='e'/>");
  TestClient& client = run.attached(0);
  write_step(client, 0);
  client.must("flush 0 60000");
  const shm::FoundRegion region = run.region();
  kill_server(region);
  client.must("write 1");
  for (const char* command : {"end 1", "flush 0 60000", "signal e 1", "finalize"}) {
    const Answer answer = client(command);
    INFO(command);
    CHECK(answer.code == DC_E_SERVER_LOST);
    CHECK_THAT(answer.sentence, Catch::Contains("(process " + std::to_string(region.server_pid) +
                                                ") is gone; what was published stays in /dev/shm" + region.name));
  }
  CHECK(client("write 1").code == DC_E_NOT_INITIALIZED);
}

TEST_CASE(
    "when the killed server's region has lost its name in /dev/shm, the client gets the error that what was not stored is lost",
    "[unpromised]") {
  Run run("<clients count='1'/>");
  TestClient& client = run.attached(0);
  const shm::FoundRegion region = run.region();
  REQUIRE(std::filesystem::remove("/dev/shm" + region.name));
  write_step(client, 0);
  client.must("flush 0 60000");
  kill_server(region);
  client.must("write 1");
  const Answer answer = client("finalize");
  CHECK(answer.code == DC_E_SERVER_LOST);
  CHECK_THAT(answer.sentence, Catch::Contains(") is gone; the name of its region, /dev/shm" + region.name + ", is gone") &&
                                  Catch::Contains("what was not stored is lost") && !Catch::Contains("damaris recover"));
}

TEST_CASE("a server that is killed while a client waits for it ends the wait") {
  const char* wait = GENERATE("flush 0 60000", "fill 1", "finalize");
  Run run("<clients count='1'/><buffer size='64KiB' timeout='60s'/>");
  TestClient& client = run.attached(0);
  const pid_t server = run.region().server_pid;
  stop(server);
  write_step(client, 0);
  client.ask(wait);
  // Dead before or after the wait has begun: the answer is the same.
  ::kill(server, SIGKILL);
  const Answer answer = client.answer();
  CHECK(answer.code == DC_E_SERVER_LOST);
}

TEST_CASE("a server that is only stopped is a time-out, not a loss, and goes on when it is continued") {
  Run run("<clients count='1'/>");
  TestClient& client = run.attached(0);
  const pid_t server = run.region().server_pid;
  stop(server);
  write_step(client, 0);
  const Answer late = client("flush 0 200");
  CHECK(late.code == DC_E_TIMEOUT);
  CHECK_THAT(late.sentence, Catch::Contains("step 0 is not durable after 200 ms: waited for server 0 on ") &&
                                Catch::Contains("(process " + std::to_string(server)));
  ::kill(server, SIGCONT);
  client.must("flush 0 60000");
  write_step(client, 1);
  client.must("finalize");
  CHECK(run.ends());
  CHECK(run.lines("step 1 complete 1 ").size() == 1);
}

TEST_CASE("finalize waits for room in a full lane as long as finalize may wait, not as long as a write") {
  const bool goes_on = GENERATE(true, false);
  const std::string finalize_timeout = goes_on ? "60s" : "300ms";
  Run run("<clients count='1'/><server finalize-timeout='" + finalize_timeout + "'/><buffer timeout='0'/><lanes events='16'/>");
  TestClient& client = run.attached(0);
  const pid_t server = run.region().server_pid;
  stop(server);
  const Answer full = client("fill 0");
  CHECK(full.code == DC_E_FULL);
  CHECK_THAT(full.sentence, Catch::StartsWith("the lane of client 0 stayed full for 0 ms"));
  client.ask("finalize");
  if (goes_on) ::kill(server, SIGCONT);
  const Answer answer = client.answer();
  run.drop(0);  // its end could not be sent to the server
  ::kill(server, SIGCONT);
  CHECK(answer.code == (goes_on ? DC_OK : DC_E_TIMEOUT));
  CHECK_THAT(answer.sentence,
             Catch::Contains(goes_on ? "" : "leaves although its data are not durable: waited 300 ms for server 0"));
  CHECK(run.ends());
  const std::string line = run.lines("step 0").at(0);
  CHECK_THAT(line, Catch::Contains("datasets 1"));
  CHECK((line.find("missing:0") == std::string::npos) == goes_on);
}

TEST_CASE("SIGTERM to a detached server: it stores what was published and ends, and its clients get the error") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  Run run("<clients count='2'/>");
  const auto server = run.ready_server();
  TestClient &first = run.attached(0), &second = run.attached(1);
  write_step(first, 0);
  second.must("write 0");
  server->kill(signal);
  CHECK(server->wait() == 1);
  CHECK(server->line() == "damaris server: asked to stop: what was published is stored, open steps are partial");
  CHECK(run.regions().empty());
  CHECK_THAT(run.lines("step 0").at(0), Catch::EndsWith("datasets 2 x:0.0=128:0 x:1.0=128:0 missing:1"));
  CHECK(run.lines("finalize").size() == 1);
  const std::string kEnded = "has ended: it stored what it had taken until then and takes nothing more";
  for (const char* command : {"write 1", "end 1"}) {
    const Answer answer = first(command);
    CHECK(answer.code == DC_E_SERVER_LOST);
    CHECK_THAT(answer.sentence, Catch::EndsWith(kEnded));
  }
  // In the open step a write looks at nothing but its arena: the end of the step tells.
  second.must("write 0 1");
  const Answer answer = second("end 0");
  CHECK(answer.code == DC_E_SERVER_LOST);
  CHECK_THAT(answer.sentence,
             Catch::EndsWith(kEnded + "; the last 1 writes and signals of client 1 came too late and are not stored"));
}

TEST_CASE("rule 16: a killed server's region with data is refused and named, for a server and for a client that starts one") {
  Run run("<clients count='1'/>");
  run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  run.client(0).must("write 0");
  kill_server(region);
  run.drop(0);
  const std::string sentence = "the region " + region.name + " of a dead server (pid " + std::to_string(region.server_pid) +
                               ") still holds 1 blocks that were never stored; store them with 'damaris recover " + region.name +
                               "', or say <buffer stale=\"recover\">, or stale=\"discard\" to give them up";
  const auto server = run.start_server();
  CHECK(server->wait() == 1);
  CHECK(server->line() == "damaris server: " + sentence);
  const Answer answer = run.client(1)("init 1");
  CHECK(answer.code == DC_E_STALE_REGION);
  CHECK(answer.sentence == sentence);
  CHECK(run.regions() == std::vector<std::string>{"/dev/shm" + region.name});
  std::filesystem::remove("/dev/shm" + region.name);
  run.attached(1);
}

TEST_CASE("a start leaves the region of a killed server to a client of it that lives and publishes more, and says so") {
  const bool with_data = GENERATE(false, true);
  Run run(std::string("<clients count='1'/><buffer stale='") + (with_data ? "discard" : "refuse") + "'/>",
          "<storage>" + Run::kRecorder + "</storage>");
  TestClient& first = run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  if (with_data) first.must("write 0");
  kill_server(region);
  ::unsetenv("DAMARIS_LOG");
  const auto server = run.start_server();
  ::setenv("DAMARIS_LOG", "off", 1);
  CHECK_THAT(server->line(), Catch::Contains("process " + std::to_string(first.process().pid()) +
                                             " is still a client of the region " + region.name) &&
                                 Catch::Contains("'damaris recover " + region.name + "'"));
  TestClient& next = run.attached(1);
  first.must("write 0 1");
  const Answer lost = first("end 0");
  CHECK(lost.code == DC_E_SERVER_LOST);
  CHECK_THAT(lost.sentence, Catch::Contains("what was published stays in /dev/shm" + region.name));
  write_step(next, 0);
  next.must("finalize");
  CHECK(server->wait() == 0);
  run.drop(0);
  CHECK(run.regions() == std::vector<std::string>{"/dev/shm" + region.name});
  const auto found = shm::find_regions(shm::job_prefix());
  CHECK(found.at(0).unreleased_blocks == (with_data ? 2 : 1));
  CHECK(found.at(0).living_clients.empty());
}

TEST_CASE("rule 16: a killed server's region with data is in use as long as a client of it lives") {
  const char* stale = GENERATE("refuse", "recover");
  Run run("<clients count='1'/><buffer stale='" + std::string(stale) + "'/>", "<storage>" + Run::kRecorder + "</storage>");
  TestClient& first = run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  first.must("write 0");
  kill_server(region);
  const Answer refused = run.client(1)("init 1");
  CHECK(refused.code == DC_E_REGION_IN_USE);
  CHECK_THAT(refused.sentence, Catch::StartsWith("process " + std::to_string(first.process().pid()) +
                                                 " is still a client of the region " + region.name));
  CHECK(run.regions() == std::vector<std::string>{"/dev/shm" + region.name});
}

TEST_CASE("a process that has finalized is no client of its killed server: it may come back, and what it left is recovered") {
  Run run("<clients count='1'/><buffer stale='recover'/>", "<storage>" + Run::kRecorder + "</storage>");
  TestClient& client = run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  client.must("write 0");
  kill_server(region);
  CHECK(client("finalize").code == DC_E_SERVER_LOST);
  client.must("init 0");
  CHECK(run.region().name != region.name);
  CHECK_THAT(run.lines("step 0").at(0), Catch::Contains("datasets 1 x:0.0=128:0"));
  client.must("finalize");
}

TEST_CASE("rule 16: stale=\"discard\" gives a killed server's data up and starts; a region without data goes in any case") {
  const bool with_data = GENERATE(true, false);
  Run run(std::string("<clients count='1'/><buffer stale='") + (with_data ? "discard" : "refuse") + "'/>");
  run.attached(0);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  if (with_data) run.client(0).must("write 0");
  kill_server(region);
  run.drop(0);
  TestClient& next = run.attached(1);
  CHECK(run.region().name != region.name);
  write_step(next, 0);
  next.must("finalize");
  CHECK(run.ends());
  CHECK_THAT(run.lines("step 0").at(0), Catch::EndsWith("datasets 1 x:1.0=128:0"));
}

}  // namespace
}  // namespace damaris::test
