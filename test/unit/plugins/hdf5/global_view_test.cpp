// Which variables of a run are shown as one array, from the manifest alone.
#include "plugins/hdf5/views/global_view.hpp"

#include <catch2/catch.hpp>

#include <limits>

#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/blocks.hpp"

using namespace damaris;
using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

// Steps of which each has the datasets of these variables, one element each.
hdf5::Steps steps_with(const std::vector<std::vector<std::string>>& variables) {
  hdf5::Steps steps;
  for (std::size_t number = 0; number < variables.size(); ++number) {
    manifest::StepEntry& step = steps[static_cast<std::int64_t>(number)];
    step.step = static_cast<std::int64_t>(number);
    step.files.resize(1);
    for (const std::string& name : variables[number]) step.files[0].datasets.push_back(joined_dataset(name, {0}, {1}));
  }
  return steps;
}

// What a server of one file a step says of it: servers that do not know of each other all have the index 0.
manifest::StepEntry line_of(const std::string& host, std::int64_t step, const manifest::DatasetEntry& dataset) {
  manifest::StepEntry line;
  line.step = step;
  line.servers = {0};
  line.reporters = {{host, 0}};
  manifest::FileEntry file;
  file.name = "run." + host + ".s0.i" + std::to_string(step) + ".h5";
  file.datasets = {dataset};
  line.files = {file};
  return line;
}

// Step 0 as the first server tells of it before the second one, step 1 the other way round.
hdf5::Steps told_in_either_order(const manifest::DatasetEntry& of_first, const manifest::DatasetEntry& of_second) {
  hdf5::Steps steps;
  for (const std::int64_t step : {0, 1}) {
    manifest::StepEntry first = line_of("a", step, of_first), second = line_of("b", step, of_second);
    if (step == 1) std::swap(first, second);
    manifest::add_files(first.files, std::move(second.files), false);
    steps[step] = std::move(first);
  }
  return steps;
}

manifest::DatasetEntry stack_of(std::int32_t source) {
  manifest::DatasetEntry stack = joined_dataset("a", {0, 0}, {2, 3});
  stack.has_position = false;
  stack.sources = {source, source};
  stack.blocks = {0, 1};
  return stack;
}

// Steps of one file each, which has these datasets of the variable "a".
hdf5::Steps steps_of(const std::vector<std::vector<manifest::DatasetEntry>>& datasets) {
  hdf5::Steps steps;
  for (std::size_t number = 0; number < datasets.size(); ++number) {
    const auto step = static_cast<std::int64_t>(number);
    steps[step] = line_of("a", step, {});
    steps[step].files[0].datasets = datasets[number];
  }
  return steps;
}

// Why the variable "a" is not shown; "" if it is.
std::string why_not_shown(const hdf5::Steps& steps, int ndims = 1) {
  const FakeHost host({}, {variable_info(0, "a", DC_INT32, ndims)});
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  CHECK(view.arrays.size() + view.not_shown.size() == 1);
  return view.not_shown.empty() ? "" : view.not_shown[0].why;
}

}  // namespace

TEST_CASE("rule 11: where files of servers overlap the lower client wins, whichever server was the first to report the step") {
  const bool lower_comes_first = GENERATE(true, false);
  manifest::DatasetEntry low = joined_dataset("a", {0}, {5}), high = joined_dataset("a", {4}, {5});
  low.lowest_source = lower_comes_first ? 1 : 7;
  high.lowest_source = lower_comes_first ? 7 : 1;
  const hdf5::Steps steps = told_in_either_order(low, high);
  const FakeHost host({}, {variable_info(0, "a", DC_INT32, 1)});
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  REQUIRE(view.arrays.size() == 1);
  for (const hdf5::Mapping& mapping : view.arrays[0].mappings) {
    const bool wins = mapping.dataset->lowest_source == 1;
    CHECK(volume(mapping.box) == (wins ? 5 : 4));
  }
  CHECK(view.arrays[0].mappings.size() == 4);
}

TEST_CASE("stacks of servers follow each other by their clients, whichever server was the first to report the step") {
  const hdf5::Steps steps = told_in_either_order(stack_of(8), stack_of(3));
  const FakeHost host({}, {variable_info(0, "a", DC_INT32, 1)});
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  CHECK(view.not_shown.empty());
  REQUIRE(view.arrays.size() == 1);
  CHECK(view.arrays[0].sources == std::vector<std::int32_t>{3, 3, 8, 8});
}

TEST_CASE("a variable that has a position in one step and none in another is not shown: the position in the latter is unknown") {
  const manifest::DatasetEntry placed = joined_dataset("a", {8}, {4}, {16}), alone = source_dataset("a", 0, {4});
  const bool first_is_placed = GENERATE(true, false);
  const hdf5::Steps steps = first_is_placed ? steps_of({{placed}, {alone}}) : steps_of({{alone}, {placed}});
  CHECK_THAT(why_not_shown(steps),
             Contains("has a position in some steps and none in run.a.s0.i" + std::string(first_is_placed ? "1" : "0") +
                      ".h5; place it with dc_set_position in every step"));
}

TEST_CASE("one block per step without a position is shown, and blocks without elements need none") {
  const manifest::DatasetEntry alone = source_dataset("a", 0, {4}), placed = joined_dataset("a", {8}, {4});
  CHECK(why_not_shown(steps_of({{alone}, {alone}})).empty());
  CHECK(why_not_shown(steps_of({{source_dataset("a", 0, {0})}, {placed}})).empty());
  CHECK(why_not_shown(steps_of({{alone}, {joined_dataset("a", {8}, {0})}})).empty());
}

TEST_CASE("the position of a block without elements does not widen the array, in any step") {
  const manifest::DatasetEntry some = joined_dataset("a", {0}, {4}), none = joined_dataset("a", {8}, {0});
  const hdf5::Steps steps = GENERATE(true, false) ? steps_of({{none}, {some}}) : steps_of({{some}, {none}});
  const FakeHost host({}, {variable_info(0, "a", DC_INT32, 1)});
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  REQUIRE(view.arrays.size() == 1);
  CHECK(view.arrays[0].box == some.box);
}

TEST_CASE("a variable whose array HDF5 could not address is not shown, and the reason names its farthest part") {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() - 4, kMost = std::int64_t{1} << 60;
  const manifest::DatasetEntry near = joined_dataset("a", {0, 0}, {4, 4}), far = joined_dataset("a", {kFar - 1, kFar}, {4, 4});
  CHECK_THAT(why_not_shown(steps_of({{near}, {far}}), 2), Contains("run.a.s0.i1.h5") && Contains("dc_set_position"));
  CHECK_FALSE(why_not_shown(steps_of({{joined_dataset("a", {kMost - 1}, {1})}, {joined_dataset("a", {0}, {1})}})).empty());
  CHECK(why_not_shown(steps_of({{joined_dataset("a", {0}, {1}), joined_dataset("a", {kMost / 2 - 1}, {1})}})).empty());
  CHECK_THAT(why_not_shown(steps_of({{joined_dataset("a", {0}, {4}, {kFar})}})), Contains("global"));
}

TEST_CASE("the axis of the most variables is the first, then the longest, then the one that begins first") {
  std::vector<dc_variable_info_t> variables;
  for (const char* path : {"a", "b", "c", "d", "e"})
    variables.push_back(variable_info(static_cast<std::uint32_t>(variables.size()), path, DC_INT32, 1));
  const hdf5::Steps steps = steps_with({{"a", "d"}, {"b", "d"}, {"a", "d"}, {"b", "c", "e"}, {"c", "e"}});
  const FakeHost host({}, variables);
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  std::vector<Numbers> axes;
  for (const hdf5::TimeAxis& axis : view.axes) axes.push_back(axis.steps);
  CHECK(axes == std::vector<Numbers>{{3, 4}, {0, 1, 2}, {0, 2}, {1, 3}});
}
