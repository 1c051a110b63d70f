// A file system that refuses to store and goes on refusing: what clients have written stays, and is stored in the end or left to recovery.
#include "api/detached/recover.hpp"
#include "core/base/clock.hpp"
#include "core/shm/region.hpp"
#include "core/shm/steps.hpp"
#include "disk_run.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

const char* const kShortEnd = "<clients count='1'/><server finalize-timeout='6s'/>";  // half of it for the last tries

// The region that the server has left, and the command that its client got; nothing more is in /dev/shm.
std::string left_region(const DiskRun& run, const std::string& sentence) {
  REQUIRE(run.run().regions().size() == 1);
  const std::string region = "/" + std::filesystem::path(run.run().regions()[0]).filename().string();
  CHECK_THAT(sentence, Contains("'damaris recover " + region + "'"));
  return region;
}

Output recover(const DiskRun& run, const std::string& region) {
  std::vector<std::string> command = on_faulty_disk(run.folder());
  command.insert(command.end(), {"damaris", "recover", region});
  Process process(command, true);
  const std::string text = all_lines(process);
  return {process.wait(), text};
}

void check_start_refused(const DiskRun& run) {
  const InFolder folder(run.folder());
  CHECK(TestClient(run.run().config())("init 0").code == DC_E_STALE_REGION);
}

// Every step to `last` is stored, whole.
void check_all_stored(const DiskRun& run, std::int64_t last) {
  const Json found = verified(run.folder());
  INFO(found.dump());
  CHECK(found.at("damaged").empty());
  CHECK(found.at("partial").empty());
  CHECK(found.at("steps") == last + 1);
  CHECK(run.leftovers().empty());
}

TEST_CASE(
    "without retry no step is given up: later ones wait, in order, and a write without room returns DC_E_FULL; all is stored in "
    "the end") {
  // A step was once given up after half of finalize-timeout.
  DiskRun run("", "<clients count='1'/><server finalize-timeout='4s'/><buffer size='64KiB' timeout='100ms'/>");
  run.store(0);
  run.rule("write ENOSPC");
  run.write(1);
  REQUIRE(wait_until([&] { return run.logged(".i1.h5 is not stored: ").size() == 1; }));
  ::usleep(2'500'000);
  int last = 2;
  while (run.client("write " + std::to_string(last)).code == DC_OK) run.client.must("end " + std::to_string(last++));
  CHECK(last > 100);
  CHECK(run.client("write " + std::to_string(last)).code == DC_E_FULL);
  CHECK(run.waits_for(1, "in plugin 'hdf5', which retries step 1 ("));
  run.rule("");
  run.client.must("flush " + std::to_string(last - 1) + " 60000");
  run.client.must("write " + std::to_string(last));
  const int end = run.client("finalize").code;
  CHECK((end == DC_OK || end == DC_N_VIEWS_FOLLOW));  // hundreds of steps in the views: a slow machine takes longer
  CHECK(run.ends() == 0);
  CHECK(recorded(run.folder(), 1).at("retries") > 0);
  check_all_stored(run, last);
}

TEST_CASE("a folder without permission is waited for, as a full disk is") {
  DiskRun run;
  run.store(0);
  run.rule("open EACCES @.i1.h5");
  run.write(1);
  CHECK(run.waits_for(1, "Permission denied"));
  run.rule("");
  run.client.must("finalize");
  CHECK(run.ends() == 0);
  check_all_stored(run, 1);
}

TEST_CASE("what still cannot be stored when all clients have ended is left to recovery: they get that once, with the command") {
  const std::string fault = GENERATE("write ENOSPC", "fsync EIO @.jsonl");
  INFO(fault);
  DiskRun run("", kShortEnd);
  run.store(0);
  run.rule(fault);
  for (const int step : {1, 2}) run.write(step);
  const auto begun = Clock::now();
  const Answer answer = run.client("finalize");
  CHECK(seconds_since(begun) < 20);
  CHECK(answer.code == DC_E_EARLIER_IO);
  CHECK_THAT(answer.sentence, Contains("steps 1 to 2 are not stored yet, but left in memory: "));
  const std::string region = left_region(run, answer.sentence);
  CHECK(run.server_status() == 1);
  CHECK(run.logged("'damaris recover " + region).size() == 1);
  CHECK(logs_text(run.file("out/run")).find("failures") == std::string::npos);

  // Nobody begins anew over it, and a recovery that the disk refuses, too, leaves it there.
  check_start_refused(run);
  const Output refused = recover(run, region);
  INFO(refused.text);
  CHECK(refused.status == 1);
  CHECK(run.run().regions().size() == 1);
  run.rule("");
  const Output stored = recover(run, region);
  INFO(stored.text);
  CHECK(stored.status == 0);
  CHECK(run.run().regions().empty());
  check_all_stored(run, 2);
  CHECK(recorded(run.folder(), 1).at("complete") == true);
}

TEST_CASE("what was spilled is left with it") {
  DiskRun run("", std::string(kShortEnd) + "<buffer size='64KiB' timeout='10s' on-full='spill' spill='.'/>");
  run.store(0);
  run.rule("write ENOSPC");
  constexpr int kLast = 400;  // more than the buffer holds
  for (int step = 1; step <= kLast; ++step) run.write(step);
  const Answer answer = run.client("finalize");
  CHECK(answer.code == DC_E_EARLIER_IO);
  CHECK_THAT(answer.sentence, Contains("left in memory and " + run.folder()) && Contains(".spill: "));
  const std::string region = left_region(run, answer.sentence);
  CHECK(run.server_status() == 1);
  run.rule("");
  const Output stored = recover(run, region);
  INFO(stored.text);
  CHECK(stored.status == 0);
  check_all_stored(run, kLast);
}

TEST_CASE("a server that is asked to stop leaves to recovery what it cannot store, within its time") {
  DiskRun run("", kShortEnd);
  run.store(0);
  run.rule("write ENOSPC");
  run.write(1);
  REQUIRE(wait_until([&] { return run.logged(".i1.h5 is not stored: ").size() == 1; }));
  run.stop();
  const auto begun = Clock::now();
  CHECK(run.server_status() == 1);
  CHECK(seconds_since(begun) < 20);
  const Answer lost = run.client("end 2");
  CHECK(lost.code == DC_E_SERVER_LOST);
  const std::string region = left_region(run, lost.sentence);
  CHECK(run.logged("not all of what was published could be stored").size() == 1);
  CHECK(run.client("finalize").code == DC_E_SERVER_LOST);
  run.client.ask("quit");
  run.client.process().wait();
  run.rule("");
  CHECK(recover(run, region).status == 0);
  check_all_stored(run, 1);
}

// As long as one of them lives nothing is recovered.
void kill_all(DiskRun& run) {
  for (Process* process : {&run.server(), &run.client.process()}) {
    process->kill(SIGKILL);
    process->wait();
  }
}

TEST_CASE("a step is not given up before its record is durable: it waits, and if the server is killed, recovery stores it") {
  const std::string fault = GENERATE("write EIO", "write EIO @.jsonl");
  INFO(fault);
  DiskRun run("retry='0s'");
  run.store(0);
  run.rule(fault);
  run.write(1);
  CHECK(run.client("flush 1 500").code == DC_E_TIMEOUT);
  CHECK(recorded(run.folder(), 1).empty());
  kill_all(run);
  REQUIRE(run.run().regions().size() == 1);
  const std::string region = "/" + std::filesystem::path(run.run().regions()[0]).filename().string();
  CHECK_THAT(verified(run.folder()).at("unstored").dump(), Contains(region));
  check_start_refused(run);
  CHECK(recover(run, region).status == 1);  // the disk refuses it once more
  REQUIRE(run.run().regions().size() == 1);
  run.rule("");
  const Output stored = recover(run, region);
  INFO(stored.text);
  CHECK(stored.status == 0);
  CHECK(run.run().regions().empty());
  check_all_stored(run, 1);
}

}  // namespace
}  // namespace damaris::test
