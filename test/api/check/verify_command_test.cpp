// The damaris verify command; what it finds is tested with the plugin.
#include <catch2/catch.hpp>

#include "support/run_program.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

TEST_CASE("damaris verify names a run that is not there and exits with 2; a damaged record with 1") {
  const TempFolder folder;
  Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("damaris verify: '" + folder.file("storm") + "' is no run: there is no "));
  folder.write("storm.jsonl", "{}\n");
  run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, StartsWith("damaged  the record: ") && Contains("storm.jsonl:1: an iteration is damaged: "));
  CHECK_THAT(run_program({"damaris", "verify", "--help"}).out, Contains("Exit status: 0 all as recorded"));
}
