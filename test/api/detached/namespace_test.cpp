// Processes in other PID and time namespaces, as containers that share the host's /dev/shm have: numbers and start times prove nothing
// there.
#include "recover.hpp"

namespace damaris::test {
namespace {

const std::vector<std::string> kOtherNumbers = {"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"};
const std::vector<std::string> kOtherClock = {"unshare", "--time", "--boottime", "100000", "--fork", "--kill-child"};

using Command = std::vector<std::string>;

Command elsewhere(const Command& command, const Command& place = kOtherNumbers) {
  Command whole = place;
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

bool can_be_elsewhere(const Command& place = kOtherNumbers) {
  Process attempt(elsewhere({"true"}, place), true);
  if (attempt.wait() == 0) return true;
  WARN("SKIP: a namespace needs root and unshare");
  return false;
}

}  // namespace

TEST_CASE(
    "a server in another PID or time namespace serves, is not recovered while it lives, and is lost and recovered once it is "
    "killed",
    "[unpromised]") {
  const Command place = GENERATE(kOtherNumbers, kOtherClock);
  if (!can_be_elsewhere(place)) return;
  Run run("<clients count='1'/>");
  Process server(elsewhere({"damaris-server", run.config()}, place), true);
  const shm::FoundRegion region = run.region();
  const Output refused = damaris({"recover", region.name});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.text, Catch::Contains("is alive"));
  CHECK_THAT(damaris({"recover", "--list"}).text, !Catch::Contains(region.name));
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  CHECK(std::filesystem::exists("/dev/shm" + region.name));

  server.kill(SIGKILL);
  server.wait();
  REQUIRE(wait_until([&] { return !shm::find_regions(region.name).at(0).alive; }));
  client.must("write 1");
  CHECK(client("end 1").code == DC_E_SERVER_LOST);
  run.drop(0);
  const Output output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains("1 block stored, step 1"));
}

TEST_CASE("a client in another PID namespace is served until it finalizes, and missed once it is killed", "[unpromised]") {
  if (!can_be_elsewhere()) return;
  Run run("<clients count='2'/>");
  const auto server = run.ready_server();
  const std::string program = std::getenv("DAMARIS_TEST_CLIENT");
  const std::string script =
      run.folder().write("client", "#!/bin/sh\nexec unshare --pid --fork --mount-proc --kill-child '" + program + "' \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms(0700));
  ::setenv("DAMARIS_TEST_CLIENT", script.c_str(), 1);
  for (const int id : {0, 1}) run.attached(id);
  ::setenv("DAMARIS_TEST_CLIENT", program.c_str(), 1);
  for (const char* command : {"write 0", "end 0"})
    for (const int id : {0, 1}) run.client(id).must(command);
  run.client(0).must("flush 0 60000");
  for (const char* command : {"write 1", "end 1"}) run.client(0).must(command);
  run.drop(1);  // killed
  CHECK(run.client(0)("finalize").code == DC_E_EARLIER_IO);
  CHECK(run.ends());
  CHECK(run.lines("step 0 complete 1 ").size() == 1);
}

}  // namespace damaris::test
