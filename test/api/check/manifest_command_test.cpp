// The damaris manifest command, with logs written by hand, and damaged ones.
#include <catch2/catch.hpp>

#include <fstream>

#include "core/base/json.hpp"
#include "support/run_program.hpp"
#include "unit/manifest/hand_log.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using damaris::Json;
using damaris::test::HandLog;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

namespace {

damaris::manifest::StepEntry step(std::int64_t number) {
  damaris::manifest::StepEntry step;
  step.step = number;
  step.time = 2.5;
  step.at = "2025-03-01T12:00:00.123Z";
  step.files.emplace_back().name = "storm.n.s0.i" + std::to_string(number) + ".h5";
  step.files.back().bytes = 2048;
  damaris::manifest::DatasetEntry& dataset = step.files.back().datasets.emplace_back();
  dataset.path = dataset.variable = "fields/theta";
  dataset.box = damaris::Box{2, {0, 0}, {4, 2}};
  dataset.raw_bytes = dataset.stored_bytes = 64;
  dataset.min = -1;
  dataset.max = 3;
  return step;
}

TEST_CASE("damaris manifest lists steps, one step's files, or JSON for jq") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  for (const int number : {0, 7}) log.add(step(number));
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
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  log.add(step(0));
  Run run = run_program({"damaris", "manifest", folder.file("storm"), "--step", "1", "--variable", "rain"});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("storm has no step 1 with 'rain'"));
  CHECK(run_program({"damaris", "manifest", folder.file("none")}).status == 2);
  std::ofstream(log.path(), std::ios::app) << "{}\n";
  run = run_program({"damaris", "manifest", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, StartsWith("step 0 "));
  CHECK_THAT(run.err, Contains("storm.g1.n.s0.jsonl:3: this line is damaged"));
}

}  // namespace
