// A large step is stored in several calls, so that messages and reads wait for a part of it only.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "plugins/hdf5/write/step_file.hpp"
#include "support/file_limit.hpp"
#include "unit/plugins/hdf5/earlier_run.hpp"
#include "unit/plugins/hdf5/fixture.hpp"
#include "unit/plugins/hdf5/record_text.hpp"

namespace damaris::test {
namespace {

constexpr std::size_t kValues = std::size_t{2} << 20;  // 8 MiB: two datasets are what one call writes
static_assert(2 * kValues * sizeof(float) == hdf5::StepFile::kBytesPerCall);

std::vector<dc_variable_info_t> five_variables() {
  static const std::array<const char*, 5> paths = {"a", "b", "c", "d", "e"};
  std::vector<dc_variable_info_t> variables;
  for (std::uint32_t i = 0; i < paths.size(); ++i) variables.push_back(variable_info(i, paths[i], DC_FLOAT32, 1));
  return variables;
}

std::vector<float> values_of(std::size_t variable) {
  std::vector<float> values(kValues);
  std::iota(values.begin(), values.end(), static_cast<float>(variable));
  return values;
}

// All variables in one step.
struct LargeStep {
  explicit LargeStep(const std::vector<dc_variable_info_t>& variables, std::int64_t step = 0) : blocks(step) {
    for (std::size_t i = 0; i < variables.size(); ++i)
      blocks.add(variables[i], 0, {static_cast<std::int64_t>(kValues)}, values_of(i));
  }
  Blocks blocks;
};

std::size_t temporary_files(const Fixture& run) {
  const std::vector<std::string> names = run.listing();
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(), [](const std::string& name) { return name.find(".h5.tmp.") != std::string::npos; }));
}

// As a server does it whose file system refuses the step for a while.
int until_stored(Fixture& run, const dc_step_t& step) {
  int code = DC_WAIT;
  while (code == DC_WAIT) code = run.plugin.on_step(step);
  return code;
}

// While the folder is away, which may pass.
int try_without_folder(Fixture& run, const dc_step_t& step) {
  const std::string folder = run.folder.path().string(), away = folder + ".away";
  std::filesystem::rename(folder, away);
  const int code = run.plugin.on_step(step);
  std::filesystem::rename(away, folder);
  return code;
}

TEST_CASE("a large step is stored in several calls, and is what it would be in one") {
  const auto variables = five_variables();
  const std::string filters = GENERATE("", "shuffle,deflate:1");
  ServerFixture run(variables, {{"filters", filters}});
  LargeStep large(variables);
  for (int call = 0; call < 2; ++call) CHECK(run.plugin.on_step_once(large.blocks.view()) == DC_AGAIN);
  CHECK(temporary_files(run) == 1);
  CHECK_FALSE(std::filesystem::exists(run.path(0)));
  CHECK(run.host.files.empty());
  CHECK(run.plugin.on_step_once(large.blocks.view()) == DC_OK);
  CHECK(run.host.files.size() == 1);
  CHECK(temporary_files(run) == 0);
  const ReadFile file(run.path(0));
  for (std::size_t i = 0; i < variables.size(); ++i)
    CHECK(file.values<float>(std::string(variables[i].path) + "/0") == values_of(i));
}

TEST_CASE("in place a large step is stored in one call: the simulation waits for all of it") {
  const auto variables = five_variables();
  Fixture run(variables);
  LargeStep large(variables);
  CHECK(run.plugin.on_step_once(large.blocks.view()) == DC_OK);
}

TEST_CASE("between two calls for a large step a read of an earlier run is answered") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  const std::vector<dc_variable_info_t> large_ones = five_variables();
  std::vector<dc_variable_info_t> variables = large_ones;
  variables.push_back(earlier.variables[0]);
  variables.back().id = 5;
  Later later(earlier.record, variables);
  later.host.set_regions(ServerFixture::kRegions);
  LargeStep large(large_ones);
  const int code = later.plugin.on_step_once(large.blocks.view());
  INFO(later.host.failure);
  REQUIRE(code == DC_AGAIN);
  Question<float> question(variables.back(), 4, {2, 3});
  question.at({2, 1});
  later.reads(question);
  CHECK(question.values == std::vector<float>{9.5F, 10.5F, 11.5F, 1.5F, 2.5F, 3.5F});
  CHECK(later.plugin.on_step(large.blocks.view()) == DC_OK);
}

TEST_CASE("a large step that fails in a later call leaves no file, and the next one is stored whole") {
  const auto variables = five_variables();
  ServerFixture run(variables);
  LargeStep first(variables, 0), second(variables, 1);
  REQUIRE(run.plugin.on_step_once(first.blocks.view()) == DC_AGAIN);
  {
    const FileLimit limit(1 << 20);
    CHECK(run.plugin.on_step(first.blocks.view()) == DC_E_IO);
  }
  CHECK(temporary_files(run) == 0);
  CHECK_FALSE(std::filesystem::exists(run.path(0)));
  const ReadFile file = run.stored(second.blocks);
  CHECK(file.values<float>("e/0") == values_of(4));
}

TEST_CASE("a large step whose server is to end meanwhile is stored to its end") {
  const auto variables = five_variables();
  ServerFixture run(variables);
  LargeStep large(variables);
  REQUIRE(run.plugin.on_step_once(large.blocks.view()) == DC_AGAIN);
  large.blocks.view().ending = 1;
  const ReadFile file = run.stored(large.blocks);
  for (std::size_t i = 0; i < variables.size(); ++i)
    CHECK(file.values<float>(std::string(variables[i].path) + "/0") == values_of(i));
}

TEST_CASE(
    "a large step that the file system refuses in a later call, as the server is to end, is left to recovery without a file") {
  const auto variables = five_variables();
  ServerFixture run(variables, {{"retry-ms", "600000"}});
  LargeStep large(variables);
  REQUIRE(run.plugin.on_step_once(large.blocks.view()) == DC_AGAIN);
  large.blocks.view().ending = 1;
  CHECK(try_without_folder(run, large.blocks.view()) == DC_WAIT);
  CHECK(temporary_files(run) == 0);
  (void)run.plugin.finalize();
  CHECK_FALSE(std::filesystem::exists(run.path(0)));
  CHECK(steps_in(run.folder.file("storm")).empty());
}

// The second attempt begins the step's record anew.
TEST_CASE("a dataset that is refused in both attempts at a step is listed once, and the error is the dataset's") {
  auto variables = five_variables();
  auto& narrow = variables.emplace_back(variable_info(5, "narrow", DC_FLOAT32, 1));
  narrow.reduce = "float16:1:0";
  narrow.reduction.precision = DC_FLOAT16;
  narrow.reduction.has_packing = 1;
  narrow.reduction.scale = 1;
  narrow.priority = 1;  // stored first
  ServerFixture run(variables, {{"retry-ms", "600000"}});
  LargeStep step({});
  for (std::size_t i = 0; i < 5; ++i) step.blocks.add(variables[i], 0, {static_cast<std::int64_t>(kValues)}, values_of(i));
  step.blocks.add(narrow, 0, {2}, std::vector<float>{1, 1e30F});
  REQUIRE(run.plugin.on_step_once(step.blocks.view()) == DC_AGAIN);
  CHECK(try_without_folder(run, step.blocks.view()) == DC_WAIT);
  CHECK(until_stored(run, step.blocks.view()) == DC_E_IO);
  CHECK_THAT(run.host.failure, Catch::Contains("'narrow' holds values from 1 to 1e+30, which overflow 16 bits"));
  const manifest::StepEntry recorded = steps_in(run.folder.file("storm")).at(0);
  CHECK(recorded.failures.size() == 1);
  CHECK_FALSE(recorded.complete);
  CHECK(recorded.retries == 1);
  CHECK(recorded.files.at(0).datasets.size() == 5);
}

TEST_CASE("a server that ends in the middle of a large step leaves no file of it") {
  const auto variables = five_variables();
  ServerFixture run(variables);
  LargeStep large(variables);
  REQUIRE(run.plugin.on_step_once(large.blocks.view()) == DC_AGAIN);
  CHECK(temporary_files(run) == 1);
  (void)run.plugin.finalize();
  CHECK(temporary_files(run) == 0);
}

}  // namespace
}  // namespace damaris::test
