// A server that the kernel kills because memory is short.
#include "memory_limit.hpp"
#include "recover.hpp"

namespace damaris::test {

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
