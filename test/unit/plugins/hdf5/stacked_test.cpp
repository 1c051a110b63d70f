// Small blocks without a position: one dataset for all of a variable, and what each way of reading gives of it.
#include <catch2/catch.hpp>

#include <functional>
#include <random>

#include "manifest/manifest.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/hdf5/fixture.hpp"
#include "unit/plugins/hdf5/made_run.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

namespace damaris::test {
namespace {

using Ints = std::vector<std::int32_t>;

void add_three(Blocks& blocks, const dc_variable_info_t& theta) {
  blocks.add(theta, 4, {2, 3}, Ints{1, 2, 3, 4, 5, 6});
  blocks.add(theta, 4, {2, 3}, Ints{7, 8, 9, 10, 11, 12}, 1);
  blocks.add(theta, 10, {2, 3}, Ints{13, 14, 15, 16, 17, 18});
}

Ints up_to(int last) {
  Ints numbers;
  for (int i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

// What dc_read gives of one block.
template <class Value>
std::vector<Value> read_back(const TempFolder& folder, const dc_variable_info_t& variable, std::int64_t step,
                             const Numbers& extents, std::int32_t source, std::int32_t block) {
  FakeHost host(Settings{{"basename", folder.file("later")}, {"restart", folder.file("storm")}}, {variable});
  RunningPlugin later("hdf5", host);
  Question<Value> question(variable, step, extents, source);
  question.read.block = block;
  const int code = later.read(question.read);
  INFO(host.failure);
  REQUIRE(code == DC_OK);
  return question.values;
}

TEST_CASE("blocks that are small, alike and without a position are one dataset, by source and block") {
  auto theta = variable_info(0, "fields/theta", DC_INT32, 2);
  theta.unit = "K";
  theta.has_global = 1;
  for (const char* filters : {"", "shuffle,deflate:1"}) {
    Fixture run({theta}, {{"filters", filters}});
    Blocks blocks(12);
    add_three(blocks, theta);
    const ReadFile file = run.stored(blocks);
    CHECK(file.extents("fields/theta") == std::vector<hsize_t>{3, 2, 3});
    CHECK(file.values<int>("fields/theta") == up_to(18));
    CHECK(file.attribute<std::int32_t>("fields/theta", "sources") == Ints{4, 4, 10});
    CHECK(file.attribute<std::int32_t>("fields/theta", "blocks") == Ints{0, 1, 0});
    CHECK(file.attribute<std::int32_t>("fields/theta", "stacked") == Ints{1});
    CHECK(file.attribute<double>("fields/theta", "value_range") == std::vector<double>{1, 18});
    CHECK(file.attribute<std::int64_t>("fields/theta", "global_extents").size() == 2);
    CHECK(file.has_attribute("fields/theta", "units"));
    for (const char* name : {"source", "block", "position", "part_extents"}) CHECK_FALSE(file.has_attribute("fields/theta", name));
  }
}

TEST_CASE("numbers without dimensions become one list over the clients") {
  const auto energy = variable_info(0, "energy", DC_FLOAT64, 0);
  Fixture run({energy});
  Blocks blocks(0);
  for (const int source : {0, 1, 5}) blocks.add(energy, source, {}, std::vector<double>{0.5 * source});
  const ReadFile file = run.stored(blocks);
  CHECK(file.extents("energy") == std::vector<hsize_t>{3});
  CHECK(file.values<double>("energy") == std::vector<double>{0, 0.5, 2.5});
}

TEST_CASE("blocks are kept apart when they are not alike, large, reduced, cut or placed, or when there is no dimension left") {
  struct Case {
    const char* what;
    std::function<void(dc_variable_info_t&)> variable;
    std::function<void(dc_dataset_t&)> second;
  };
  const auto same = [](auto&) {};
  const Case cases[] = {
      {"other extents", same, [](dc_dataset_t& block) { block.extents[0] = 1, block.bytes = 4; }},
      {"ghost zones", same, [](dc_dataset_t& block) { block.ghost_low[0] = 1; }},
      {"a position", same, [](dc_dataset_t& block) { place(block, {2}); }},
      {"a codec", [](dc_variable_info_t& v) { v.reduction.codec = DC_CODEC_DEFLATE, v.reduction.level = 1; }, same},
      {"rounding", [](dc_variable_info_t& v) { v.reduction.precision = DC_ROUND_ABSOLUTE, v.reduction.bound = 0.5; }, same},
      {"chunks of its own", [](dc_variable_info_t& v) { v.chunk[0] = 1; }, same},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    auto variable = variable_info(0, "v", DC_FLOAT32, 1);
    one.variable(variable);
    Fixture run({variable});
    Blocks blocks(0);
    blocks.add(variable, 0, {2}, std::vector<float>{1, 2});
    one.second(blocks.add(variable, 1, {2}, std::vector<float>{3, 4}));
    const ReadFile file = run.stored(blocks);
    CHECK(file.has("v/0"));
    CHECK(file.has("v/1"));
  }
  const auto full = variable_info(0, "v", DC_INT8, DC_MAX_DIMS), wide = variable_info(0, "v", DC_INT8, 1);
  Fixture run({full});
  Blocks most(0), large(1), largest_small(2);
  for (const int source : {0, 1}) {
    most.add(full, source, Numbers(DC_MAX_DIMS, 1), std::vector<std::int8_t>{1});
    large.add(wide, source, {65537}, std::vector<std::int8_t>(65537));
    largest_small.add(wide, source, {65536}, std::vector<std::int8_t>(65536));
  }
  CHECK(run.stored(most).extents("v/1").size() == DC_MAX_DIMS);
  CHECK(run.stored(large).extents("v/1") == std::vector<hsize_t>{65537});
  CHECK(run.stored(largest_small).extents("v") == std::vector<hsize_t>{2, 65536});
}

TEST_CASE("the manifest names the clients of a stack's blocks; it verifies, and each client gets its own back") {
  const TempFolder folder;
  const auto theta = variable_info(0, "fields/theta", DC_INT32, 2);
  {
    ServerOf server(folder, 0, 1);
    Blocks blocks(7);
    add_three(blocks, theta);
    REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
  }
  manifest::Manifest record(folder.file("storm"));
  record.read_on();
  const manifest::StepEntry step = record.with_files(7);
  const manifest::DatasetEntry& stored = step.files.at(0).datasets.at(0);
  CHECK(stored.path == "fields/theta");
  CHECK(stored.sources == Ints{4, 4, 10});
  CHECK(stored.blocks == Ints{0, 1, 0});
  CHECK(stored.source == -1);
  CHECK(stored.raw_bytes == 72);
  const manifest::Verification found = hdf5::verify(folder.file("storm"), {});
  CHECK(found.damaged.empty());
  CHECK(found.datasets == 1);
  CHECK(read_back<std::int32_t>(folder, theta, 7, {2, 3}, 4, 1) == Ints{7, 8, 9, 10, 11, 12});
  CHECK(read_back<std::int32_t>(folder, theta, 7, {2, 3}, 10, 0) == Ints{13, 14, 15, 16, 17, 18});
}

TEST_CASE("the master file shows stacks of several servers as one array of blocks, while they are the same in all steps") {
  const TempFolder folder;
  const auto count = variable_info(0, "count", DC_INT32, 1), other = variable_info(1, "other", DC_INT32, 0);
  MadeRun run(folder.path(), 2, {count, other});
  for (int step = 0; step < 2; ++step)
    for (int server = 0; server < 2; ++server) {
      Blocks blocks(step);
      for (const int source : {3 * server, 3 * server + 1})
        blocks.add(count, source, {2}, Ints{100 * step + 10 * source, 100 * step + 10 * source + 1});
      for (int block = 0; block < 2 + step; ++block) blocks.add(other, server, {}, Ints{block}, block);
      run.store(server, blocks);
    }
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("count") == std::vector<hsize_t>{2, 4, 2});
  CHECK(master.values<int>("count") == Ints{0, 1, 10, 11, 30, 31, 40, 41, 100, 101, 110, 111, 130, 131, 140, 141});
  CHECK(master.attribute<std::int32_t>("count", "sources") == Ints{0, 1, 3, 4});
  CHECK(master.attribute<std::int32_t>("count", "blocks") == Ints{0, 0, 0, 0});
  CHECK(master.has("scalar_block"));
  CHECK(master.has("scalar_x"));
  CHECK_FALSE(master.has("other"));
  const hdf5::GlobalView view = hdf5::global_view(run.records, *FakeHost(Settings{}, {count, other}).view());
  REQUIRE(view.not_shown.size() == 1);
  CHECK_THAT(view.not_shown[0].why, Catch::Contains("differ between steps; place them with dc_set_position"));
}

// A block of the property below, and what it holds.
struct Written {
  std::int32_t source, block;
  Numbers extents;
  std::vector<double> values;
};

TEST_CASE("property: whatever the number, shape and size of blocks without a position, each is read back as it was written") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto from = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
    const int ndims = from(0, 4), clients = from(1, 6), most = from(1, 3);
    const bool alike = from(0, 3) > 0;
    INFO("seed " << seed);
    Numbers extents;
    for (int d = 0; d < ndims; ++d) extents.push_back(from(from(0, 1), ndims < 3 ? 100 : 12));
    const auto variable = variable_info(0, "fields/v", DC_FLOAT64, ndims);
    const TempFolder folder;
    std::vector<Written> all;
    {
      ServerOf server(folder, 0, 1, from(0, 1) == 0 ? Settings{} : Settings{{"filters", "shuffle,deflate:1"}});
      Blocks blocks(3);
      for (int source = 0; source < clients; ++source)
        for (int block = 0; block < most; ++block) {
          Written one = {2 * source, block, extents, {}};
          if (!alike && ndims > 0 && from(0, 2) == 0) one.extents[0] += 1;
          std::int64_t count = 1;
          for (const std::int64_t extent : one.extents) count *= extent;
          for (std::int64_t i = 0; i < count; ++i) one.values.push_back(static_cast<double>(random()) - 1e9);
          blocks.add(variable, one.source, one.extents, one.values, block);
          all.push_back(std::move(one));
        }
      REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
      REQUIRE(server.plugin->finalize() == DC_OK);
    }
    CHECK(hdf5::verify(folder.file("storm"), {}).damaged.empty());
    for (const Written& one : all) CHECK(read_back<double>(folder, variable, 3, one.extents, one.source, one.block) == one.values);
  }
}

}  // namespace
}  // namespace damaris::test
