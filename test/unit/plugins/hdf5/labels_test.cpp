// The attributes: what a reader needs to know without the XML.
#include <damaris/version.h>

#include <catch2/catch.hpp>

#include "unit/plugins/hdf5/fixture.hpp"

using namespace damaris::test;

namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;

dc_variable_info_t temperature() {
  dc_variable_info_t variable = variable_info(0, "fields/th", DC_FLOAT32, 2);
  variable.layout = "tile";
  variable.unit = "K";
  variable.description = "potential temperature, \xce\xb8";
  variable.has_global = 1;
  return variable;
}

void make_global(dc_dataset_t& block) {
  block.global[0] = 8;
  block.global[1] = 6;
}

}  // namespace

TEST_CASE("a dataset of one source has unit, description, layout, step, time, source, block, position and global extents") {
  const auto variable = temperature();
  Fixture run({variable});
  Blocks blocks(7);
  blocks.view().has_time = 1;
  blocks.view().time = 3.25;
  make_global(blocks.add(variable, 2, {1, 2}, std::vector<float>{1, 2}));
  dc_dataset_t& second = blocks.add(variable, 5, {1, 2}, std::vector<float>{3, 4}, 3);
  make_global(second);
  place(second, {4, 2});
  const ReadFile file = run.stored(blocks);
  const std::string path = "fields/th/5.3";
  CHECK(file.text(path, "units") == "K");
  CHECK(file.text(path, "long_name") == "potential temperature, \xce\xb8");
  CHECK(file.text(path, "layout") == "tile");
  CHECK(file.attribute<std::int64_t>(path, "iteration") == Longs{7});
  CHECK(file.attribute<double>(path, "time") == std::vector<double>{3.25});
  CHECK(file.attribute<std::int32_t>(path, "source") == Ints{5});
  CHECK(file.attribute<std::int32_t>(path, "block") == Ints{3});
  CHECK(file.attribute<std::int64_t>(path, "position") == Longs{4, 2});
  CHECK(file.attribute<std::int64_t>(path, "global_extents") == Longs{8, 6});
  CHECK_FALSE(file.has_attribute("fields/th/2", "position"));
}

TEST_CASE("a joined dataset has its own position, and names the source of each part") {
  const auto variable = temperature();
  Fixture run({variable});
  Blocks blocks(7);
  const std::vector<float> values = {1, 2, 3, 4};
  const auto add = [&](std::int32_t source, std::int32_t block, const Numbers& position) {
    dc_dataset_t& made = blocks.add(variable, source, {2, 2}, values, block);
    make_global(made);
    place(made, position);
  };
  add(2, 0, {4, 2});
  add(2, 1, {4, 4});
  add(3, 0, {4, 3});  // between the others, hidden by them
  const ReadFile file = run.stored(blocks);
  const std::string path = "fields/th";
  CHECK(file.attribute<std::int64_t>(path, "position") == Longs{4, 2});
  CHECK(file.extents(path) == std::vector<hsize_t>{2, 4});
  CHECK(file.attribute<std::int32_t>(path, "sources") == Ints{2, 2});
  CHECK(file.attribute<std::int32_t>(path, "blocks") == Ints{0, 1});
  CHECK(file.attribute<std::int64_t>(path, "part_positions") == Longs{4, 2, 4, 4});
  CHECK(file.attribute<std::int64_t>(path, "part_extents") == Longs{2, 2, 2, 2});
  CHECK(file.attribute<std::int64_t>(path, "global_extents") == Longs{8, 6});
  CHECK(file.text(path, "units") == "K");
  CHECK_FALSE(file.has_attribute(path, "source"));
  CHECK_FALSE(file.has_attribute(path, "time"));
}

TEST_CASE("what the XML does not specify is not an attribute") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {1}, std::vector<int>{1});
  const ReadFile file = run.stored(blocks);
  for (const char* name : {"units", "long_name", "time", "position", "global_extents"})
    CHECK_FALSE(file.has_attribute("v/0", name));
}

TEST_CASE("the file has simulation, step, time, host, server, clients, and those that are absent or missing") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Fixture run({variable});
  Blocks blocks(9);
  blocks.add(variable, 0, {1}, std::vector<int>{1});
  const Ints absent = {1, 2}, missing = {3};
  dc_step_t& view = blocks.view();
  view.has_time = 1;
  view.time = 0.5;
  view.absent = absent.data();
  view.absent_count = absent.size();
  view.missing = missing.data();
  view.missing_count = missing.size();
  view.never_attached = 4;
  const ReadFile file = run.stored(blocks);
  CHECK(file.text("/", "format") == "damaris-hdf5");
  CHECK(file.attribute<std::int32_t>("/", "format_version") == Ints{2});
  CHECK(file.text("/", "damaris_version") == DAMARIS_VERSION);
  CHECK(file.text("/", "simulation") == "storm");
  CHECK(file.text("/", "created").size() == std::string("2024-01-01T00:00:00Z").size());
  CHECK(file.attribute<std::int64_t>("/", "iteration") == Longs{9});
  CHECK(file.attribute<double>("/", "time") == std::vector<double>{0.5});
  CHECK(file.text("/", "host") == "node7");
  CHECK(file.attribute<std::int32_t>("/", "server") == Ints{3});
  CHECK(file.attribute<std::int32_t>("/", "servers") == Ints{4});
  CHECK(file.attribute<std::int32_t>("/", "clients") == Ints{0, 1, 2, 3});
  CHECK(file.attribute<std::int32_t>("/", "absent_clients") == absent);
  CHECK(file.attribute<std::int32_t>("/", "missing_clients") == missing);
  CHECK(file.attribute<std::int64_t>("/", "never_attached") == Longs{4});
}

TEST_CASE("the effects of a full buffer on a step are in its file, and nothing if there were none") {
  const auto u = variable_info(0, "fields/u", DC_INT32, 1), v = variable_info(1, "fields/v", DC_INT32, 1);
  Fixture run({u, v});
  const std::uint32_t refused[] = {1};
  for (int step = 0; step < 3; ++step) {
    Blocks blocks(step);
    blocks.add(u, 0, {1}, std::vector<int>{1});
    dc_step_t& view = blocks.view();
    if (step > 0) view.skipped = refused, view.skipped_count = 1, view.reduced = 1;
    view.dropped = step == 2 ? 1 : 0;
    const ReadFile file = run.stored(blocks);
    CHECK(file.has_attribute("/", "skipped_variables") == (step == 1));
    CHECK(file.has_attribute("/", "dropped_variables") == (step == 2));
    CHECK(file.has_attribute("/", "reduced_on_full") == (step > 0));
    if (step == 0) continue;
    CHECK(file.texts("/", step == 1 ? "skipped_variables" : "dropped_variables") == std::vector<std::string>{"fields/v"});
    CHECK(file.attribute<std::int32_t>("/", "reduced_on_full") == Ints{1});
  }
}

TEST_CASE("no absent or missing clients give empty lists, a hundred thousand of them long ones") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Fixture run({variable});
  Blocks few(0), many(1);
  few.add(variable, 0, {1}, std::vector<int>{1});
  CHECK(run.stored(few).attribute<std::int32_t>("/", "absent_clients").empty());
  many.add(variable, 0, {1}, std::vector<int>{1});
  const Ints absent(100000, 17);
  many.view().absent = absent.data();
  many.view().absent_count = absent.size();
  CHECK(run.stored(many).attribute<std::int32_t>("/", "absent_clients") == absent);
}

TEST_CASE("thousands of parts of one array are stored with their origin") {
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  Fixture run({variable});
  Blocks blocks(0);
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 100; ++j) place(blocks.add(variable, i, {1, 1}, std::vector<int>{100 * i + j}, j), {i, j});
  const ReadFile file = run.stored(blocks);
  const std::vector<int> values = file.values<int>("v");
  REQUIRE(values.size() == 10000);
  CHECK(values[4321] == 4321);
  CHECK(file.attribute<std::int64_t>("v", "part_positions").size() == 20000);
}
