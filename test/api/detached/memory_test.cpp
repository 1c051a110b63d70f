// What a client takes of the memory, and a server that the kernel kills because memory is short.
#include "memory_limit.hpp"
#include "recover.hpp"
#include "support/peak_memory.hpp"

namespace damaris::test {
namespace {

std::string with_variables(int count, const std::string& server = "") {
  std::string data = "<layout name='line' type='double' dimensions='16'/><variable name='x' layout='line'/>";
  for (int i = 0; i < count; ++i)
    data += "<variable name='v" + std::to_string(i) + "' layout='line' unit='K' description='a variable of many'/>";
  return "<simulation name='run'><architecture><clients count='1'/>" + server + "</architecture><data>" + data +
         "</data></simulation>";
}

// Memory that no file stands behind: the heap, the stacks and what else is a process's own.
std::uint64_t anonymous_bytes(pid_t pid) {
  std::ifstream sums("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string word; sums >> word;)
    if (std::uint64_t kib = 0; word == "Anonymous:" && sums >> kib) return kib << 10;
  FAIL("no smaps_rollup of process " << pid);
  return 0;
}

// What the client takes from its start to the end of its first step.
std::uint64_t bytes_of_start(TestClient& client) {
  CHECK(client("nothing").code != DC_OK);  // it has started
  const std::uint64_t before = anonymous_bytes(client.process().pid());
  for (const char* command : {"init 0", "write 0", "end 0"}) client.must(command);
  const std::uint64_t bytes = anonymous_bytes(client.process().pid()) - before;
  client.must("finalize");
  return bytes;
}

}  // namespace

// They were 16 MiB when each client had the model.
TEST_CASE("the variables of the model take no memory of a client that does not write them") {
  if (!kMemoryIsOurs) return;
  Run run;
  run.folder().write("run.xml", with_variables(10'000));
  const auto server = run.ready_server();
  CHECK(bytes_of_start(run.client(0)) < 512 << 10);
}

TEST_CASE("a client that has parsed the configuration to start the server keeps little of it") {
  if (!kMemoryIsOurs) return;
  Run run;
  run.folder().write("run.xml", with_variables(10'000, "<server start='auto'/>"));
  CHECK(bytes_of_start(run.client(0)) < 4 << 20);
}

TEST_CASE("a server that is killed for want of memory loses nothing: its clients get the error, and 'damaris recover' stores all") {
  MemoryLimit limit(32 << 20);
  Run run("<clients count='1'/>",
          "<storage>" + Run::kRecorder + "</storage><event name='take' action='take_memory' using='damaris_test_recorder.so'/>");
  const auto server = run.ready_server();
  if (!limit.holds(server->pid())) {
    WARN("skipped: no memory control group can be made here");
    run.attached(0).must("finalize");
    return;
  }
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000", "write 1", "write 1 1", "signal take 1"}) client.must(command);
  // The server takes the memory before it hears of the end of the step.
  Answer answer = client("end 1");
  if (answer.code == DC_OK) answer = client("flush 1 60000");
  CHECK(answer.code == DC_E_SERVER_LOST);
  CHECK_THAT(answer.sentence, Catch::Contains("is gone") && Catch::Contains("'damaris recover'"));
  CHECK(server->wait() == 128 + SIGKILL);
  CHECK(limit.kills() > 0);
  run.drop(0);
  const Output output = damaris({"recover", run.regions().at(0)});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(run.lines("step 1 ").at(0), Catch::Contains("datasets 2 x:0.0=128:16 x:0.1=128:16"));
  CHECK(run.regions().empty());
}

}  // namespace damaris::test
