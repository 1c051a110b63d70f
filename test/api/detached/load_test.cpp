// Many processes, and many runs one after the other, with a detached server.
#include "run.hpp"

namespace damaris::test {

TEST_CASE("64 client processes of one server: all are in each step, and nothing is left") {
  constexpr int kClients = 64;
  Run run("<clients count='64'/><buffer size='8MiB'/>");
  for (int id = 0; id < kClients; ++id) run.client(id).ask("init " + std::to_string(id));
  for (int id = 0; id < kClients; ++id) CHECK(run.client(id).answer().code == DC_OK);
  for (const char* command : {"write 0", "end 0", "write 1", "end 1", "finalize"}) {
    for (int id = 0; id < kClients; ++id) run.client(id).ask(command);
    for (int id = 0; id < kClients; ++id) CHECK(run.client(id).answer().code == DC_OK);
  }
  CHECK(run.ends());
  for (const char* step : {"step 0 ", "step 1 "}) {
    const std::string line = run.lines(step).at(0);
    CHECK_THAT(line, Catch::Contains("datasets 64 ") && Catch::Contains("x:63.0=") && !Catch::Contains("missing"));
  }
}

TEST_CASE("a hundred starts and stops leave nothing behind") {
  Run run("<clients count='1'/><buffer size='64KiB'/>");
  for (int cycle = 0; cycle < 100; ++cycle) {
    TestClient& client = run.attached(0);
    client.must("write " + std::to_string(cycle));
    client.must("finalize");
    run.drop(0);
  }
  CHECK(run.ends());
  CHECK(run.lines("step ").size() == 100);
}

}  // namespace damaris::test
