// `damaris recover` and stale="recover", after a server that was killed.
#include "recover.hpp"
#include "core/shm/region.hpp"
#include "core/shm/region_names.hpp"
#include "core/shm/shared_memory.hpp"

#include <sys/stat.h>

namespace damaris::test {
namespace {

const std::string kRecorded = "<storage>" + Run::kRecorder + "</storage>";

}  // namespace

TEST_CASE("damaris recover stores what a killed server had in hand, once its clients are gone, and removes the region") {
  Run run("<clients count='1'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  const std::string pid = std::to_string(run.client(0).process().pid());

  Output output = damaris({"recover", "--list", region.name});
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::StartsWith(region.name + "\n  server 0 of 'run' on ") &&
                              Catch::Contains("\n  1 block of step 1, 128 B\n  process " + pid + " is still a client"));
  output = damaris({"recover", region.name});
  CHECK(output.status == 1);
  CHECK(output.text ==
        "damaris recover: process " + pid + " is still a client of " + region.name + " and may publish more; end it first\n");

  run.drop(0);
  std::ofstream("/dev/shm" + shm::StartLock(run.key()).name()).close();  // as a server that was killed while it started leaves it
  output = damaris({"recover", "/dev/shm" + region.name});
  CHECK(output.status == 0);
  CHECK(output.text == region.name + ": 1 block stored, step 1, region removed\n");
  CHECK(run.regions().empty());
  CHECK(run.lines("step 0 complete 1 ").size() == 1);
  CHECK_THAT(run.lines("step 1 complete 1 ").at(0), Catch::EndsWith("datasets 1 x:0.0=128:16"));
}

// Reading a hole of a mapped file in /dev/shm allocates a page: where there is none left, by SIGBUS.
TEST_CASE("a region is listed and recovered without memory for the arena of a client that never came") {
  Run run("<clients count='2'/><server attach-timeout='60s'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run, false);
  run.drop(0);
  const int file = ::open(("/dev/shm" + region.name).c_str(), O_RDONLY | O_CLOEXEC);
  struct stat before = {}, after = {};
  REQUIRE(::fstat(file, &before) == 0);
  CHECK_THAT(damaris({"recover", "--list", region.name}).text, Catch::Contains("1 block of step 1"));
  const Output output = damaris({"recover", region.name});
  CHECK(output.text == region.name + ": 1 block stored, step 1, region removed\n");
  REQUIRE(::fstat(file, &after) == 0);
  ::close(file);
  CHECK(after.st_blocks == before.st_blocks);
}

TEST_CASE("a region that another process is recovering is left to it") {
  Run run("<clients count='1'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  {
    auto other = shm::SharedMemory::open(region.name, 1);
    REQUIRE(other.try_lock(shm::kTakeoverPart));
    const Output output = damaris({"recover", region.name});
    CHECK(output.status == 1);
    CHECK_THAT(output.text, Catch::Contains("another process recovers " + region.name));
    for (const char* stale : {"recover", "discard"}) {
      run.folder().write("run.xml", Run::xml(std::string("<clients count='1'/><buffer stale='") + stale + "'/>", kRecorded));
      const Answer answer = run.client(1)("init 1");
      CHECK(answer.code == DC_E_REGION_IN_USE);
      CHECK_THAT(answer.sentence, Catch::Contains("another process recovers"));
    }
  }
  CHECK(run.lines("step 1 ").empty());
  CHECK(damaris({"recover", region.name}).status == 0);
  CHECK(run.lines("step 1 ").size() == 1);
}

TEST_CASE("a killed server is dead for its clients and a recovery, though a child of it lives on") {
  Run run("<clients count='1'/>",
          kRecorded + "<actions><event name='fork' action='leave_child' using='damaris_test_faults.so'/></actions>");
  TestClient& client = run.attached(0);
  for (const char* command : {"signal fork 0", "write 0", "end 0", "flush 0 60000"}) client.must(command);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  for (const char* command : {"write 1", "end 1"}) client.must(command);
  ::kill(region.server_pid, SIGKILL);
  CHECK(client("flush 1 60000").code == DC_E_SERVER_LOST);
  run.drop(0);
  CHECK(damaris({"recover", region.name}).status == 0);
  CHECK(run.lines("step 1 ").size() == 1);
  run.folder().write("log.go", "");
}

TEST_CASE("a region whose storage cannot be started stays, and can be recovered when the cause is mended") {
  Run run("<clients count='1'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  const char* before = std::getenv("DAMARIS_PLUGIN_PATH");
  const std::string path = before == nullptr ? "" : before;
  ::setenv("DAMARIS_PLUGIN_PATH", "/nowhere", 1);
  const Output output = damaris({"recover", region.name});  // of others, tests run beside this one
  ::setenv("DAMARIS_PLUGIN_PATH", path.c_str(), 1);
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("damaris_test_recorder.so"));
  CHECK(run.regions() == std::vector<std::string>{"/dev/shm" + region.name});
  CHECK(damaris({"recover", region.name}).status == 0);
  CHECK(run.lines("step 1 ").size() == 1);
}

TEST_CASE("a region with nothing to store goes, also where its storage cannot be started") {
  Run run("<clients count='1'/>", kRecorded);
  run.attached(0);
  const shm::FoundRegion region = run.region();
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  run.drop(0);
  const char* before = std::getenv("DAMARIS_PLUGIN_PATH");
  const std::string path = before == nullptr ? "" : before;
  ::setenv("DAMARIS_PLUGIN_PATH", "/nowhere", 1);
  const Output output = damaris({"recover", region.name});
  ::setenv("DAMARIS_PLUGIN_PATH", path.c_str(), 1);
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains(region.name + ": 0 blocks, region removed\n"));
  CHECK(run.regions().empty());
}

TEST_CASE("rule 16: with stale=\"recover\" the next server stores a killed server's data before it starts") {
  Run run("<clients count='1'/><buffer stale='recover'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  TestClient& next = run.attached(0);
  CHECK(run.region().name != region.name);
  CHECK(run.lines("step 1 complete 1 ").size() == 1);
  for (const char* command : {"write 2", "end 2", "finalize"}) next.must(command);
  CHECK(run.ends());
  CHECK(run.lines("step ").size() == 3);
}

TEST_CASE("damaris recover says that there is nothing to do, and refuses what is no region or a living server's") {
  Run run("<clients count='1'/>", kRecorded);
  Output output = damaris({"recover", "/damaris.none"});
  CHECK(output.status == 1);
  CHECK_THAT(output.text,
             Catch::StartsWith("damaris recover: there is no region /damaris.none on this node; 'damaris recover --list' "));
  run.attached(0);
  output = damaris({"recover", run.region().name});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains(" is alive; send it SIGTERM to make it store its data"));
  run.client(0).must("finalize");
  CHECK(run.ends());
  CHECK(damaris({"recover", "--nonsense"}).status == 2);
  CHECK(damaris({"recover", "--basename", ""}).status == 2);
}

TEST_CASE("damaris recover works from a folder that is gone") {
  Run run("<clients count='1'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  const InFolder folder(run.folder().path());
  Process process({"sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec damaris recover \"$0\"", region.name}, true);
  const std::string text = all_lines(process);
  INFO(text);
  CHECK(process.wait() == 0);
  CHECK_THAT(text, Catch::Contains("1 block stored, step 1"));
}

TEST_CASE("a region that cannot be looked at is named by damaris recover, with and without --list, and not taken for none") {
  Run run("<clients count='1'/>", kRecorded);
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  std::string program = "damaris-recover", way_out;
  std::vector<std::string> limit;
  SECTION("another version's") {
    shm::Region::attach(region.name).header().abi = shm::kAbi + 1;
    way_out = "the Damaris that made it";
  }
#ifndef DAMARIS_TEST_SANITIZED  // a sanitizer opens files of its own, and maps terabytes
  SECTION("beyond the limit of open files") {
    limit = {"sh", "-c",
             "exec 3<&- && exec prlimit --nofile=4 \"$0\" \"$@\""};  // one is left, also below a ctest that hands one on
    way_out = "ulimit -n";
  }
  SECTION("beyond the limit of memory") {
    std::filesystem::resize_file("/dev/shm" + region.name, std::uintmax_t{4} << 30);  // a hole, of no memory
    limit = {"prlimit", "--as=2000000000"};
    way_out = "ulimit -v";
  }
#endif
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--list"}, {}}) {
    std::vector<std::string> command = limit;
    command.push_back(program);
    command.insert(command.end(), options.begin(), options.end());
    Process process(command, true);
    const std::string text = all_lines(process);
    INFO(text);
    CHECK(process.wait() == 1);
    CHECK_THAT(text, Catch::Contains(region.name) && Catch::Contains(way_out) && !Catch::Contains("no dead server has left"));
    CHECK(run.regions().size() == 1);
  }
}

TEST_CASE("a region that is being made, or was never finished, is nothing that damaris recover could not look at") {
  Run run("<clients count='1'/>", kRecorded);
  const std::string name = shm::region_name(run.key(), 1, 0, 0);
  std::ofstream("/dev/shm" + name) << std::string(4096, '\0');
  CHECK_THAT(damaris({"recover", "--list"}).text, !Catch::Contains(name));
}

TEST_CASE("where /dev/shm cannot be listed, damaris recover and a start say so") {
  Run run("<clients count='1'/>", kRecorded);
  std::filesystem::permissions(run.folder().path(), std::filesystem::perms::all);
  const auto unlisted = [](std::vector<std::string> command) {
    command.insert(command.begin(), {"unshare", "--mount", "sh", "-c",
                                     "mount -t tmpfs -o mode=1733 none /dev/shm && exec setpriv --reuid=4242 --regid=4242 "
                                     "--clear-groups \"$0\" \"$@\""});
    return command;
  };
  if (Process attempt(unlisted({"true"}), true); attempt.wait() != 0) {
    WARN("SKIP: a mount needs root and unshare");
    return;
  }
  Process recover(unlisted({"damaris-recover"}), true);
  CHECK_THAT(all_lines(recover), Catch::Contains("cannot list /dev/shm: Permission denied"));
  CHECK(recover.wait() == 1);
  TestClient client(unlisted({std::getenv("DAMARIS_TEST_CLIENT"), run.config()}));
  const Answer answer = client("init 0");
  CHECK(answer.code == DC_E_SHM);
  CHECK_THAT(answer.sentence, Catch::Contains("cannot list /dev/shm: Permission denied"));
}

}  // namespace damaris::test
