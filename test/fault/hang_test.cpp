// A disk that does not answer: every wait has its bound and says on what it waited, and nothing is lost when the disk comes back.
#include "disk_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

TEST_CASE("a disk that hangs is named by time-outs and by the watchdog; what came in is stored when it answers again") {
  DiskRun run("", "<clients count='1'/><server finalize-timeout='12s'/>");
  run.store(0);
  run.rule("write hang @.i1.h5");  // not the views, which the server writes when it has nothing else to do
  for (const int step : {1, 2}) run.write(step);
  const std::string place = "in plugin 'hdf5' at step 1 for ";
  CHECK(run.waits_for(1, place));
  const Answer late = run.client("finalize");
  CHECK(late.code == DC_E_TIMEOUT);
  CHECK_THAT(late.sentence, Contains("client 0 leaves although its data are not durable: waited 12000 ms for") && Contains(place));
  CHECK(wait_until([&] { return run.named_by_watchdog(place); }));
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

}  // namespace
}  // namespace damaris::test
