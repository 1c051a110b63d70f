// A disk that does not answer: every wait has its bound and says on what it waited, and nothing is lost when the disk comes back.
#include <csignal>

#include "api/detached/recover.hpp"
#include "disk_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

TEST_CASE("a disk that hangs is named by time-outs and in the log; what came in is stored when it answers again") {
  DiskRun run("", "<clients count='1'/><server finalize-timeout='12s'/>");
  run.store(0);
  run.rule("write hang @.i1.h5");  // not the views, which the server writes when it has nothing else to do
  for (const int step : {1, 2}) run.write(step);
  const std::string place = "in plugin 'hdf5' at step 1 for ";
  CHECK(run.waits_for(1, place));
  const Answer late = run.client("finalize");
  CHECK(late.code == DC_E_TIMEOUT);
  CHECK_THAT(late.sentence, Contains("client 0 leaves although its data are not durable: waited 12000 ms for") && Contains(place));
  CHECK(wait_until([&] { return run.named_in_log(place); }));
  run.rule("");
  CHECK(run.ends() == 0);
  const Json found = verified(run.folder());
  CHECK(found.at("steps") == 3);
  CHECK(found.at("damaged").empty());
  CHECK(found.at("partial").empty());
}

TEST_CASE("a disk that is slow holds no client up, and everything is stored") {
  DiskRun run;
  // The last step cannot be stored yet, however long the test takes to ask for it.
  run.rule("write hang @.i9.h5\nall slow:10");
  for (int step = 0; step < 10; ++step) run.write(step);
  CHECK(run.client("flush 9 1").code == DC_E_TIMEOUT);
  run.rule("all slow:10");
  run.client.must("flush 9 60000");
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  CHECK(verified(run.folder()).at("steps") == 10);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("SIGTERM works while the disk hangs: clients get the error, and what came in is stored when the disk answers") {
  DiskRun run;
  run.store(0);
  run.rule("write hang @.i1.h5");
  for (const int step : {1, 2}) run.write(step);
  CHECK(run.waits_for(1, "in plugin 'hdf5' at step 1 for "));
  run.server().kill(SIGTERM);
  CHECK(wait_until([&] { return !run.logged("asked to stop: storing published data").empty(); }));
  CHECK(run.client("write 3").code == DC_E_SERVER_LOST);
  CHECK(run.logged("asked to stop: what was published is stored").empty());
  run.rule("");
  CHECK(run.ends() == 1);
  CHECK(run.logged("asked to stop: what was published is stored").size() == 1);
  CHECK(verified(run.folder()).at("steps") == 3);
}

TEST_CASE("clients that die while their blocks are being stored, and the disk hangs, are noticed; their blocks are stored") {
  DiskRun run("", "<clients count='3'/>");
  std::vector<TestClient*> all = {&run.client, &run.attached(1), &run.attached(2)};
  run.rule("write hang @.i0.h5");
  for (TestClient* client : all) {
    client->must("write 0");
    client->must("end 0");
  }
  CHECK(run.waits_for(0, "in plugin 'hdf5' at step 0 for "));
  for (const int id : {1, 2}) all[static_cast<std::size_t>(id)]->process().kill(SIGKILL);
  CHECK(wait_until([&] { return run.logged(" died after step 0").size() == 2; }));
  run.client.must("write 1");
  Answer told;
  int step = 1;
  CHECK(wait_until([&] {  // the line in the log comes before the report to the client
    told = run.client("end " + std::to_string(step++));
    return told.code != DC_OK;
  }));
  CHECK_THAT(told.sentence, Contains("died after step 0"));
  run.rule("");
  CHECK(wait_until([&] { return run.client("flush 1 20").code != DC_E_TIMEOUT; }));
  CHECK(run.client("finalize").code <= DC_OK);
  run.ends();
  CHECK(recorded(run.folder(), 0).value("complete", false));
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("a plugin that never returns is named, the client leaves within its time-out, and a recovery stores every step") {
  DiskRun run("", "<clients count='1'/><server finalize-timeout='1s'/><buffer size='1MiB' stale='recover'/>");
  run.store(0);
  run.client.must("signal hold 1");
  for (const int step : {1, 2, 3}) run.write(step);
  CHECK(run.waits_for(3, "in action 'hold'"));
  const std::string region = run.run().region().name;
  CHECK(run.client("finalize").code == DC_E_TIMEOUT);
  for (Process* process : {&run.client.process(), &run.server()}) {
    process->kill(SIGKILL);
    process->wait();
  }
  Process recovery({"env", "-C", run.folder(), "damaris-recover", region}, true);
  INFO(all_lines(recovery));
  CHECK(recovery.wait() == 0);
  CHECK(run.run().regions().empty());
  CHECK(verified(run.folder()).at("steps") == 4);
  CHECK(verified(run.folder()).at("damaged").empty());
}

TEST_CASE("while the disk hangs and the spill folder goes away, what was accepted stays, and what finds no room is refused") {
  const TempFolder spill;
  DiskRun run("", "<clients count='1'/><buffer size='64KiB' timeout='5s' on-full='block spill' spill-size='1GiB' spill='" +
                      spill.path().string() + "'/>");
  run.rule("write hang @.i0.h5");
  int accepted = 0;
  for (; accepted < 2000 && run.client("write " + std::to_string(accepted)).code == DC_OK; ++accepted) {
    run.client.must("end " + std::to_string(accepted));
    if (accepted == 600) std::filesystem::remove_all(spill.path());
  }
  CHECK(accepted > 600);
  run.rule("");
  run.client.must("flush " + std::to_string(accepted - 1) + " 60000");
  CHECK(run.client("finalize").code <= DC_OK);
  run.ends();
  CHECK(verified(run.folder()).at("steps").get<int>() >= accepted);
  CHECK(verified(run.folder()).at("damaged").empty());
}

}  // namespace
}  // namespace damaris::test
