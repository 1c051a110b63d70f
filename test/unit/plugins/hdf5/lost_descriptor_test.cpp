// Between two calls for a large step another plugin, or the program in place, may close the descriptor of its file and open a file of its own.
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "manifest/server_report.hpp"
#include "plugins/hdf5/write/step_file.hpp"
#include "support/taken_descriptor.hpp"
#include "unit/plugins/hdf5/fixture.hpp"

namespace damaris::test {
namespace {

constexpr const char* kTemporary = ".h5.tmp.";

constexpr std::int64_t kValues = std::int64_t{4} << 20;
static_assert(kValues * sizeof(float) == hdf5::StepFile::kBytesPerCall);

// `first` is as large as what one call writes.
std::vector<dc_variable_info_t> two_variables() {
  return {variable_info(0, "first", DC_FLOAT32, 1), variable_info(1, "second", DC_FLOAT32, 1)};
}

void add_large(Blocks& blocks, const dc_variable_info_t& variable) {
  blocks.add(variable, 0, {kValues}, std::vector<float>(static_cast<std::size_t>(kValues), static_cast<float>(variable.id)));
}

bool has_temporary(const Fixture& run) {
  const std::vector<std::string> names = run.listing();
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.find(kTemporary) != std::string::npos; });
}

// As a server does it whose file system refuses the step for a while.
int until_stored(Fixture& run, const dc_step_t& step) {
  int code = DC_REFUSED;
  while (code == DC_REFUSED) code = run.plugin.on_step(step);
  return code;
}

TEST_CASE("a step whose descriptor another file has is written anew, and that file stays as it is", "[unpromised]") {
  const auto variables = two_variables();
  ServerFixture run(variables, {{"retry-ms", "600000"}});
  Blocks step(0);
  for (const dc_variable_info_t& variable : variables) add_large(step, variable);
  REQUIRE(run.plugin.on_step_once(step.view()) == DC_AGAIN);
  const TakenDescriptor other(kTemporary, run.folder.file("other"));
  CHECK(run.plugin.on_step_once(step.view()) == DC_REFUSED);
  CHECK_THAT(run.host.failure, Catch::Contains("another part of this process has closed its descriptor") &&
                                   Catch::Contains("close only descriptors that they have opened"));
  CHECK_FALSE(has_temporary(run));
  CHECK(until_stored(run, step.view()) == DC_OK);
  CHECK(other.is_open());
  CHECK(other.text() == TakenDescriptor::kText);
  const ReadFile file(run.path(0));
  for (const dc_variable_info_t& variable : variables)
    CHECK(file.values<float>(std::string(variable.path) + "/0") ==
          std::vector<float>(static_cast<std::size_t>(kValues), static_cast<float>(variable.id)));
}

// The second attempt begins the step's record anew.
TEST_CASE("a dataset that is refused in both attempts at a step is listed once, and the error is the dataset's", "[unpromised]") {
  std::vector<dc_variable_info_t> variables = two_variables();
  auto& narrow = variables.emplace_back(variable_info(2, "narrow", DC_FLOAT32, 1));
  narrow.reduce = "float16:1:0";
  narrow.reduction.precision = DC_FLOAT16;
  narrow.reduction.has_packing = 1;
  narrow.reduction.scale = 1;
  narrow.priority = 1;  // stored first
  ServerFixture run(variables, {{"retry-ms", "600000"}});
  Blocks step(0);
  step.add(narrow, 0, {2}, std::vector<float>{1, 1e30F});
  for (std::size_t i = 0; i < 2; ++i) add_large(step, variables[i]);
  REQUIRE(run.plugin.on_step_once(step.view()) == DC_AGAIN);
  const TakenDescriptor other(kTemporary, run.folder.file("other"));
  CHECK(run.plugin.on_step_once(step.view()) == DC_REFUSED);
  CHECK(until_stored(run, step.view()) == DC_E_IO);
  CHECK_THAT(run.host.failure, Catch::Contains("'narrow' holds values from 1 to 1e+30, which overflow 16 bits"));
  const auto report = manifest::report_from(0, run.host.sent.back().second);  // for the manifest, which server 0 keeps
  CHECK(report.step.failures.size() == 1);
  CHECK_FALSE(report.step.complete);
  CHECK(report.step.retries == 1);
  CHECK(report.files.total.datasets == 2);
}

// HDF5 then closes a file of which much is no longer in its cache.
TEST_CASE("a file of many datasets whose descriptor another file has is given up without harm", "[unpromised]") {
  const std::size_t count = 3000;
  std::deque<std::string> paths;
  std::vector<dc_variable_info_t> variables;
  for (std::uint32_t i = 0; i < count; ++i)
    variables.push_back(
        variable_info(i, paths.emplace_back("group" + std::to_string(i % 50) + "/v" + std::to_string(i)).c_str(), DC_FLOAT32, 1));
  for (const char* large : {"y", "z"})
    variables.push_back(variable_info(static_cast<std::uint32_t>(variables.size()), large, DC_FLOAT32, 1));
  ServerFixture run(variables);
  Blocks step(0);
  for (std::size_t i = 0; i < count; ++i) step.add(variables[i], 0, {2}, std::vector<float>(2, 1));
  for (std::size_t i = count; i < variables.size(); ++i) add_large(step, variables[i]);
  REQUIRE(run.plugin.on_step_once(step.view()) == DC_AGAIN);
  const TakenDescriptor other(kTemporary, run.folder.file("other"));
  SECTION("as the step goes on") { CHECK(run.plugin.on_step(step.view()) == DC_E_IO); }
  SECTION("at the end") { (void)run.plugin.finalize(); }
  CHECK_FALSE(has_temporary(run));
  CHECK(other.is_open());
  CHECK(other.text() == TakenDescriptor::kText);
}

}  // namespace
}  // namespace damaris::test
