// The damaris manifest command, with manifests written by hand: of version 2, and damaged ones.
#include <catch2/catch.hpp>

#include "core/base/json.hpp"
#include "support/run_program.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using damaris::Json;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

namespace {

std::string line_of(int step) {
  return R"({"step":)" + std::to_string(step) +
         R"(,"time":2.5,"complete":true,"servers":[0],"raw_bytes":64,"stored_bytes":2048,"at":"2025-03-01T12:00:00.123Z","files":[{"name":"storm.n.s0.i)" +
         std::to_string(step) + R"(.h5","server":0,"bytes":2048,"checksum":"crc32:00000000","datasets":[{"path":"fields/theta",)" +
         R"("variable":"fields/theta","extents":[4,2],"raw_bytes":64,"stored_bytes":64,"checksum":"crc32:00000000","min":-1,"max":3}]}]})" +
         "\n";
}

TEST_CASE("damaris manifest lists steps, one step's files, or JSON for jq") {
  const TempFolder folder;
  folder.write("storm.jsonl", line_of(0) + line_of(7));
  Run run = run_program({"damaris", "manifest", folder.file("storm")});
  CHECK(run.status == 0);
  CHECK_THAT(run.out,
             StartsWith("step 0 ") && Contains("\nstep 7 ") && Contains("whole") && Contains("2 KiB") && !Contains("theta"));
  run = run_program({"damaris", "manifest", folder.path(), "--step", "7"});
  CHECK_THAT(run.out, StartsWith("step 7 ") && Contains("storm.n.s0.i7.h5") && Contains("fields/theta") && Contains("4x2") &&
                          Contains("-1 to 3"));
  run = run_program({"damaris", "manifest", folder.path(), "--variable", "fields/theta", "--json"});
  REQUIRE(Json::accept(run.out.substr(0, run.out.find('\n'))));
  CHECK(Json::parse(run.out.substr(0, run.out.find('\n'))).at("files").at(0).at("datasets").size() == 1);
}

TEST_CASE("damaris manifest names what is not there, and what is damaged") {
  const TempFolder folder;
  folder.write("storm.jsonl", line_of(0));
  Run run = run_program({"damaris", "manifest", folder.file("storm"), "--step", "1", "--variable", "rain"});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("storm.jsonl has no step 1 with 'rain'"));
  CHECK(run_program({"damaris", "manifest", folder.file("none")}).status == 2);
  folder.write("storm.jsonl", line_of(0) + "{}\n");
  run = run_program({"damaris", "manifest", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, StartsWith("step 0 "));
  CHECK_THAT(run.err, Contains("storm.jsonl:2: a step is damaged"));
  folder.write("storm.jsonl", R"({"step":0,"complete":true,"servers":[0],"raw_bytes":1,"stored_bytes":1,"datasets":1,"described":)"
                              R"([{"in":"storm.n.s0.entries.abc","at":24,"bytes":9,"checksum":"crc32:00000000"}]})"
                              "\n");
  run = run_program({"damaris", "manifest", folder.file("storm"), "--step", "0"});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("storm.n.s0.entries.abc, a shard of the manifest, is missing; restore it"));
}

}  // namespace
