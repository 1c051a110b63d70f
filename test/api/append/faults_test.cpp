// Servers and clients that die, a buffer that stays full, a disk that takes nothing.
#include "log_run.hpp"

#include <sys/resource.h>

#include "core/shm/region.hpp"

namespace damaris::test {
namespace {

// Ends the server where it stands, with what is in the region.
void kill_server(const shm::FoundRegion& region) {
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
}

TEST_CASE("a server is killed: nothing that was appended is lost, and damaris recover completes the files") {
  LogRun run("<clients count='2'/>");
  run.attached(0).must("append 300 2000");
  run.attached(1).must("append 100 2000");
  run.client(0).must("commit 60000");
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  run.client(0).must("append 40 2000");
  run.client(1).must("alloc 30 2000");
  kill_server(region);
  CHECK(run.records_of(0) >= 300);  // what is committed is there also before the recovery
  const Answer lost = run.client(0)("commit 60000");
  CHECK(lost.code == DC_E_SERVER_LOST);
  CHECK_THAT(lost.sentence, Catch::Contains("damaris recover"));
  run.drop(0);
  run.drop(1);
  const Output listed = damaris({"recover", "--list", region.name});
  CHECK_THAT(listed.text, Catch::Contains("appends to logs"));
  const Output output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK(run.records_of(0) == 340);
  CHECK(run.records_of(1) == 130);
  CHECK(run.reader().index().ended());
  CHECK(run.regions().empty());
}

TEST_CASE("a recovery replaces the log of an earlier run if the killed server had stored nothing yet") {
  LogRun run("<clients count='1'/>", "");
  run.attached(0).must("append 10 100");
  run.client(0).must("finalize");
  REQUIRE(run.ends());
  run.client(0).must("init 0");
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  run.client(0).must("append 20 100");
  kill_server(region);
  run.drop(0);
  CHECK(run.records_of(0) == 10);
  const Output output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK(run.records_of(0) == 20);
}

TEST_CASE("a recovery of a region whose log has become another run's says so and leaves the region") {
  LogRun run("<clients count='1'/>");
  run.attached(0).must("append 10 100");
  run.client(0).must("commit 60000");
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  run.client(0).must("append 10 100");
  kill_server(region);
  run.drop(0);
  const std::string index = run.reader().path();
  std::fstream file(index, std::ios::in | std::ios::out | std::ios::binary);
  logs::IndexEntry begin = {};
  file.seekg(sizeof(logs::IndexHeader));
  file.read(reinterpret_cast<char*>(&begin), sizeof begin);
  REQUIRE(begin.kind == logs::EntryKind::begin);
  begin.offset ^= 1;
  begin.seal = logs::seal_of(begin);
  file.seekp(sizeof(logs::IndexHeader));
  file.write(reinterpret_cast<const char*>(&begin), sizeof begin);
  file.close();
  const Output output = damaris({"recover", region.name});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("is a log of another run"));
  CHECK(run.regions().size() == 1);
  CHECK(run.records_of(0) == 10);
}

TEST_CASE("a full buffer: an append waits its bound, fails, and works again when there is room") {
  LogRun run("<clients count='1'/><buffer size='256KiB' timeout='100ms'/>");
  run.attached(0).must("append 10 1000");
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  const Answer full = run.client(0)("append 10000 1000");
  CHECK(full.code == DC_E_FULL);
  CHECK_THAT(full.sentence, Catch::Contains("no room to append") && Catch::Contains("log 'events'"));
  ::kill(region.server_pid, SIGCONT);
  // The server may be slower than the time-out: asked again, and then never for more than there is room for.
  REQUIRE(wait_until([&] { return run.client(0)("commit 60000").code == DC_OK; }));
  for (int part = 0; part < 10; ++part)
    for (const char* command : {"append 100 1000", "commit 60000"}) run.client(0).must(command);
  run.client(0).must("finalize");
  REQUIRE(run.ends());
  CHECK(run.records_of(0) >= 1010);
}

TEST_CASE("a client that is killed between its place and its publishing leaves a hole, which is listed and skipped") {
  LogRun run("<clients count='2'/>", "");
  run.attached(0).must("append 10 100");
  run.attached(1).must("append 10 100");
  run.client(0).must("commit 60000");
  shm::Region::attach(run.region().name).log_end(0).bytes.fetch_add(1000);  // as the first of the two does
  run.client(1).process().kill(SIGKILL);
  run.client(1).process().wait();
  run.drop(1);
  run.client(0).must("append 10 100");
  CHECK(run.client(0)("finalize").code <= DC_OK);
  REQUIRE(run.ends());
  CHECK(run.records_of(0) == 20);
  CHECK(run.records_of(1) == 10);
  REQUIRE(run.reader().holes().size() == 1);
  CHECK(run.reader().holes()[0].place.bytes == 1000);
  CHECK_THAT(damaris({"stream-log", run.base(), "--list"}).text, Catch::Contains("hole") && Catch::Contains("1000 bytes"));
}

TEST_CASE("a client that scribbles over the end of a log: no append is lost unsaid, and the others keep their lanes") {
  const bool back = GENERATE(true, false);  // to where something lies, or far away
  LogRun run("<clients count='2'/>", "");
  run.attached(0).must("append 10 100");
  run.attached(1).must("append 10 100");
  run.client(0).must("commit 60000");
  run.client(1).must("commit 60000");
  const shm::Region region = shm::Region::attach(run.region().name);
  region.log_end(0).bytes.store(back ? 0 : std::uint64_t{1} << 40);
  (void)run.client(1)("append 1 100");
  const Answer lost = run.client(1)("commit 60000");
  CHECK(lost.code == DC_E_IO);
  CHECK_THAT(lost.sentence, Catch::Contains("a client has damaged the region"));
  CHECK(run.client(0)("commit 60000").code == DC_E_IO);
  CHECK(run.client(0)("finalize").code < DC_OK);
  CHECK(run.client(1)("finalize").code < DC_OK);
  REQUIRE(run.ends());
  CHECK(run.records_of(0) == 10);
  CHECK(run.records_of(1) == 10);
  CHECK_FALSE(run.reader().index().ended());
}

TEST_CASE("the disk takes nothing: a commit says so at once, and recovery stores all when the cause has gone") {
  LogRun run("<clients count='1'/><server finalize-timeout='6s'/>", "");
  run.attached(0).must("append 1 30");
  run.client(0).must("commit 60000");
  const std::string data = run.reader().path().substr(0, run.reader().path().rfind(".stream-index")) + ".0.stream";
  run.client(0).must("finalize");
  REQUIRE(run.ends());
  std::filesystem::remove(data);
  std::filesystem::create_directory(data);  // as a file that cannot be opened
  run.client(0).must("init 0");
  const shm::FoundRegion region = run.region();
  run.client(0).must("append 100 1000");
  const Answer refused = run.client(0)("commit 60000");
  CHECK(refused.code == DC_E_IO);
  CHECK_THAT(refused.sentence, Catch::Contains(data));
  CHECK(run.client(0)("finalize").code < DC_OK);
  run.drop(0);
  wait_until_dead(region);
  REQUIRE(run.regions().size() == 1);
  std::filesystem::remove(data);
  const Output output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains("100 blocks stored"));
  CHECK(run.records_of(0) == 100);
}

TEST_CASE("a log of which a part is left to recovery has not ended, and the next run does not replace it") {
  LogRun run("<clients count='1'/><buffer stale='discard'/><server finalize-timeout='2s'/>", "");
  run.attached(0).must("append 10 100");
  run.client(0).must("commit 60000");
  const shm::FoundRegion region = run.region();
  const struct rlimit low = {1024,
                             RLIM_INFINITY};  // as a disk that is full: there is room for an entry of the index, not for the bytes
  REQUIRE(::prlimit(region.server_pid, RLIMIT_FSIZE, &low, nullptr) == 0);
  run.client(0).must("append 40 100");
  CHECK(run.client(0)("commit 60000").code == DC_E_IO);
  CHECK(run.client(0)("finalize").code < DC_OK);
  run.drop(0);
  wait_until_dead(region);
  CHECK_FALSE(run.reader().index().ended());
  CHECK(run.records_of(0) == 10);
  CHECK(damaris({"recover", region.name}).status == 0);
  CHECK(run.reader().index().ended());
  CHECK(run.records_of(0) == 50);
}

TEST_CASE("a run that was killed is not written over by the next one") {
  LogRun run("<clients count='1'/><buffer stale='discard'/>");
  run.attached(0).must("append 10 100");
  run.client(0).must("commit 60000");
  kill_server(run.region());
  run.drop(0);
  const Answer again = run.client(1)("init 0");
  CHECK(again.code < DC_OK);
  CHECK(run.records_of(0) == 10);
}

}  // namespace
}  // namespace damaris::test
