// The master file, read with HDF5's own calls: values, holes, types, names, and folders that move.
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

constexpr int kHole = -2147483647;  // netCDF's default for its type

// Row `server` of an array of two rows of three: 100 step + 10 server + column.
template <class Value>
void add_row(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  std::vector<Value> values;
  for (int x = 0; x < 3; ++x) values.push_back(static_cast<Value>(100 * step + 10 * server + x));
  place(blocks.add(variable, server, {1, 3}, values), {server, 0});
}

template <class Value>
void store_rows(MadeRun& run, const dc_variable_info_t& variable, std::int64_t step, const std::vector<int>& servers) {
  for (const int server : servers) {
    Blocks blocks(step);
    add_row<Value>(blocks, variable, server, step);
    run.store(server, blocks);
  }
}

class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("the master file shows a variable of two servers and two steps as one array") {
  const TempFolder folder;
  const auto variable = variable_info(0, "fields/theta", DC_INT32, 2);
  MadeRun run(folder.path(), 2, {variable});
  store_rows<int>(run, variable, 4, {0, 1});
  store_rows<int>(run, variable, 6, {0, 1});
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("fields/theta") == std::vector<hsize_t>{2, 2, 3});
  CHECK(master.values<int>("fields/theta") == std::vector<int>{400, 401, 402, 410, 411, 412, 600, 601, 602, 610, 611, 612});
  CHECK(master.values<std::int64_t>("fields/iteration") == std::vector<std::int64_t>{4, 6});
  CHECK(master.values<double>("fields/time") == std::vector<double>{4, 6});
  CHECK(master.text("fields/time", "long_name") == "iteration");
  CHECK(master.text("/", "Conventions") == "CF-1.8");
  CHECK(master.texts("/", "not_shown").empty());
}

TEST_CASE("a server that has not reported yet leaves a hole, which is filled when it reports") {
  const TempFolder folder;
  const auto real = variable_info(0, "v", DC_FLOAT32, 2);
  MadeRun run(folder.path(), 2, {real});
  store_rows<float>(run, real, 0, {0, 1});
  store_rows<float>(run, real, 1, {1});
  run.write_views();
  {
    const ReadFile master(folder.file("run.h5"));
    const auto values = master.values<float>("v");
    REQUIRE(master.extents("v") == std::vector<hsize_t>{2, 2, 3});
    CHECK(std::isnan(values[6]));
    CHECK(values[9] == 110);
    CHECK(master.attribute<std::int64_t>("/", "incomplete_iterations") == std::vector<std::int64_t>{1});
  }
  store_rows<float>(run, real, 1, {0});
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<float>("v")[6] == 100);
  CHECK(master.attribute<std::int64_t>("/", "incomplete_iterations").empty());
}

TEST_CASE(
    "a hole in a variable of integers reads as no plausible number, which readers of netCDF mask, and so does a file that is "
    "gone") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  MadeRun run(folder.path(), 2, {variable});
  store_rows<int>(run, variable, 0, {0, 1});
  store_rows<int>(run, variable, 1, {1});
  run.write_views();
  std::filesystem::remove(run.path(1, 0));
  constexpr std::int32_t kNo = -2147483647;
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<int>("v") == std::vector<int>{0, 1, 2, kNo, kNo, kNo, kNo, kNo, kNo, 110, 111, 112});
  CHECK(master.attribute<std::int32_t>("v", "_FillValue") == std::vector<std::int32_t>{kNo});
}

TEST_CASE("the views are valid after the folder has moved, from any working directory") {
  const TempFolder folder, elsewhere;
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  MadeRun run(folder.path(), 2, {variable});
  store_rows<int>(run, variable, 3, {0, 1});
  run.write_views();
  const std::vector<int> expected = {300, 301, 302, 310, 311, 312};
  const auto moved = elsewhere.path() / "moved";
  std::filesystem::copy(folder.path(), moved);
  std::filesystem::remove(run.path(0, 3));  // so that only the moved files can give the values
  std::filesystem::remove(run.path(1, 3));
  {
    const WorkingFolder there("/");
    CHECK(ReadFile(moved.string() + "/run.h5").values<int>("v") == expected);
  }
  const WorkingFolder there(moved);
  const ReadFile master("run.h5");
  CHECK(master.values<int>("v") == expected);
}

TEST_CASE("variables and groups with the names of axes keep them; the axes get other names") {
  const TempFolder folder;
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "time", DC_INT32, 1),
                                                     variable_info(1, "steps/iteration", DC_INT32, 1),
                                                     variable_info(2, "scalar_x", DC_INT32, 1)};
  MadeRun run(folder.path(), 1, variables);
  Blocks blocks(5);
  for (const dc_variable_info_t& variable : variables) place(blocks.add(variable, 0, {2}, std::vector<int>{7, 8}), {0});
  run.store(0, blocks);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<int>("time") == std::vector<int>{7, 8});
  CHECK(master.values<int>("steps/iteration") == std::vector<int>{7, 8});
  CHECK(master.values<double>("time_") == std::vector<double>{5});
  CHECK(master.values<double>("steps/time_") == std::vector<double>{5});
  CHECK(master.values<std::int64_t>("iteration_") == std::vector<std::int64_t>{5});
  CHECK(master.extents("scalar_x_") == std::vector<hsize_t>{2});
}

TEST_CASE("an array without declared extents spans its parts and has a position") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  MadeRun run(folder.path(), 1, {variable});
  Blocks first(0), second(1);
  place(first.add(variable, 0, {2}, std::vector<int>{1, 2}), {-3});
  run.store(0, first);
  place(second.add(variable, 0, {3}, std::vector<int>{3, 4, 5}), {-2});  // another place and size in the next step
  run.store(0, second);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("v") == std::vector<hsize_t>{2, 4});
  CHECK(master.values<int>("v") == std::vector<int>{1, 2, kHole, kHole, kHole, 3, 4, 5});
  CHECK(master.attribute<std::int64_t>("v", "position") == std::vector<std::int64_t>{-3});
}

TEST_CASE("declared extents are shown in full, and grow if a part is outside") {
  const TempFolder folder;
  auto variable = variable_info(0, "v", DC_INT32, 1);
  variable.has_global = 1;
  MadeRun run(folder.path(), 1, {variable});
  Blocks blocks(0);
  dc_dataset_t& inside = blocks.add(variable, 0, {1}, std::vector<int>{1});
  place(inside, {1});
  inside.global[0] = 4;
  run.store(0, blocks);
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).extents("v") == std::vector<hsize_t>{1, 4});
  Blocks more(1);
  dc_dataset_t& outside = more.add(variable, 0, {2}, std::vector<int>{2, 3});
  place(outside, {3});
  outside.global[0] = 4;
  run.store(0, more);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("v") == std::vector<hsize_t>{2, 5});
  CHECK(master.values<int>("v") == std::vector<int>{kHole, 1, kHole, kHole, kHole, kHole, kHole, kHole, 2, 3});
}

TEST_CASE("where servers share a face the values of the lower one are shown") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  MadeRun run(folder.path(), 3, {variable});
  for (const int server : {2, 0, 1}) {
    Blocks blocks(0);
    place(blocks.add(variable, server, {3}, std::vector<int>(3, 10 + server)), {2 * server});
    run.store(server, blocks);
  }
  auto& files = run.records.at(0).files;  // as the manifest has them
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.server < b.server; });
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).values<int>("v") == std::vector<int>{10, 10, 10, 11, 11, 12, 12});
}

TEST_CASE("a variable that one client writes without a position is shown whole") {
  const TempFolder folder;
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "energy", DC_FLOAT64, 0), variable_info(1, "x", DC_INT32, 1)};
  MadeRun run(folder.path(), 1, variables);
  for (int step = 0; step < 2; ++step) {
    Blocks blocks(step);
    blocks.add(variables[0], 0, {}, std::vector<double>{0.5 + step});
    blocks.add(variables[1], 0, {2}, std::vector<int>{step, step + 1});
    run.store(0, blocks);
  }
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("energy") == std::vector<hsize_t>{2});
  CHECK(master.values<double>("energy") == std::vector<double>{0.5, 1.5});
  CHECK(master.values<int>("x") == std::vector<int>{0, 1, 1, 2});
}

TEST_CASE("as many dimensions as a layout may have leave room for time") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, DC_MAX_DIMS);
  MadeRun run(folder.path(), 1, {variable});
  Blocks blocks(0);
  std::vector<int> values(std::size_t{1} << DC_MAX_DIMS);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  place(blocks.add(variable, 0, Numbers(DC_MAX_DIMS, 2), values), Numbers(DC_MAX_DIMS, 0));
  run.store(0, blocks);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("v").size() == DC_MAX_DIMS + 1);
  CHECK(master.values<int>("v") == values);
}

TEST_CASE("an array without elements, and one of another run's XML, are harmless") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  MadeRun run(folder.path(), 1, {variable});
  Blocks blocks(0);
  place(blocks.add(variable, 0, {0, 4}, std::vector<int>{}), {0, 0});
  run.store(0, blocks);
  run.records.at(0).files[0].datasets.push_back(run.records.at(0).files[0].datasets[0]);
  run.records.at(0).files[0].datasets[1].variable = "unknown";
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.extents("v") == std::vector<hsize_t>{1, 0, 4});
  CHECK(master.texts("/", "not_shown") == std::vector<std::string>{"unknown: the XML of this run does not declare it"});
}

TEST_CASE("a variable of other dimensions in an earlier run is not shown as one array") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT32, 2);
  MadeRun run(folder.path(), 1, {variable});
  store_rows<int>(run, variable, 0, {0});
  store_rows<int>(run, variable, 1, {0});
  run.records.at(0).files[0].datasets[0].box.ndims = 1;
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK_FALSE(master.has("v"));
  REQUIRE(master.texts("/", "not_shown").size() == 1);
  CHECK_THAT(master.texts("/", "not_shown")[0], Contains("1 dimensions in storm.node7.s0.i0.h5 and 2 in the XML"));
}

TEST_CASE("a variable that a continuing run declares differently is not shown: not converted, nor under another unit") {
  const TempFolder folder;
  const auto run = [&](dc_type type, const char* unit, std::int64_t step) {
    auto v = variable_info(0, "v", type, 1), w = variable_info(1, "w", DC_FLOAT32, 1);
    v.unit = unit;
    FakeHost host(Settings{{"basename", folder.file("storm")}, {"exists", "append"}}, {v, w});
    host.place(0, 1);
    RunningPlugin plugin("hdf5", host);
    REQUIRE(plugin.init_code == DC_OK);
    Blocks blocks(step);
    const std::vector<float> reals = {0.75F, 1000};
    type == DC_FLOAT32 ? place(blocks.add(v, 0, {2}, reals), {0}) : place(blocks.add(v, 0, {2}, std::vector<int>{1, 2}), {0});
    place(blocks.add(w, 0, {2}, reals), {0});
    REQUIRE(plugin.on_step(blocks.view()) == DC_OK);
    REQUIRE(plugin.finalize() == DC_OK);
  };
  run(DC_FLOAT32, "K", 0);
  const std::string again = GENERATE("the same", "type", "unit");
  INFO(again);
  run(again == "type" ? DC_INT32 : DC_FLOAT32, again == "unit" ? "degC" : "K", 1);
  const ReadFile master(folder.file("storm.h5"));
  CHECK(master.extents("w") == std::vector<hsize_t>{2, 2});
  CHECK(master.has("v") == (again == "the same"));
  if (again == "type")
    CHECK(master.texts("/", "not_shown") == std::vector<std::string>{"v: it is declared as float32 in K in step 0 and as int32 in "
                                                                     "K in this run"});
  if (again == "unit") CHECK_THAT(master.texts("/", "not_shown").at(0), Contains("as float32 in degC in this run"));
}

TEST_CASE("a run without any data has views without arrays") {
  const TempFolder folder;
  MadeRun run(folder.path(), 1, {variable_info(0, "v", DC_INT32, 1)});
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK_FALSE(master.has("time"));
  CHECK(master.texts("/", "not_shown").empty());
}

TEST_CASE("a coordinate labels a dimension only if it has the same positions; otherwise it is an array in time") {
  const TempFolder folder;
  const std::uint32_t x[] = {0};
  std::vector<dc_variable_info_t> variables = {variable_info(0, "places/x", DC_FLOAT32, 1), variable_info(1, "fits", DC_INT32, 1),
                                               variable_info(2, "longer", DC_INT32, 1)};
  for (const std::size_t k : {1, 2}) {
    variables[k].coordinate_count = 1;
    variables[k].coordinates = x;
  }
  MadeRun run(folder.path(), 1, variables);
  const auto store = [&](std::int64_t step, bool fitting) {
    Blocks blocks(step);
    place(blocks.add(variables[0], 0, {2}, std::vector<float>{0.5F, 2.5F}), {0});
    if (fitting) place(blocks.add(variables[1], 0, {2}, std::vector<int>{1, 2}), {0});
    place(blocks.add(variables[2], 0, {3}, std::vector<int>{1, 2, 3}), {0});
    run.store(0, blocks);
  };
  store(0, false);
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).extents("places/x") == std::vector<hsize_t>{1, 2});
  store(1, true);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<float>("places/x") == std::vector<float>{0.5F, 2.5F});
  CHECK(master.values<float>("x") == std::vector<float>{0.5F, 2.5F});
  CHECK(master.extents("fits") == std::vector<hsize_t>{1, 2});
  CHECK(master.extents("longer") == std::vector<hsize_t>{2, 3});
  CHECK(master.has("scalar_x"));
}

TEST_CASE("a coordinate whose name is already in use labels under another name") {
  const TempFolder folder;
  const std::uint32_t y[] = {0};
  std::vector<dc_variable_info_t> variables = {variable_info(0, "places/x", DC_FLOAT32, 1), variable_info(1, "x", DC_INT32, 1)};
  variables[1].coordinate_count = 1;
  variables[1].coordinates = y;
  MadeRun run(folder.path(), 1, variables);
  Blocks blocks(0);
  place(blocks.add(variables[0], 0, {2}, std::vector<float>{0.5F, 2.5F}), {0});
  place(blocks.add(variables[1], 0, {2}, std::vector<int>{1, 2}), {0});
  run.store(0, blocks);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<int>("x") == std::vector<int>{1, 2});
  CHECK(master.values<float>("x_") == std::vector<float>{0.5F, 2.5F});
  CHECK(master.values<float>("places/x_") == std::vector<float>{0.5F, 2.5F});
}

TEST_CASE("times that do not increase are not used as an axis: it then has the steps' numbers, in XDMF too") {
  const TempFolder folder;
  const std::vector<double> times =
      GENERATE(std::vector<double>{0.5, 1.5, 2.5}, std::vector<double>{0.5, 1.5, 1.5}, std::vector<double>{0.5, 2.5, 1.5},
               std::vector<double>{0.5, std::numeric_limits<double>::quiet_NaN(), 1.5});
  const bool increase = times.back() == 2.5;
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  MadeRun run(folder.path(), 1, {variable});
  for (int step = 0; step < 3; ++step) {
    Blocks blocks(step);
    blocks.view().has_time = 1;
    blocks.view().time = times[static_cast<std::size_t>(step)];
    place(blocks.add(variable, 0, {1}, std::vector<int>{step}), {0});
    run.store(0, blocks);
  }
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<double>("time") == (increase ? times : std::vector<double>{0, 1, 2}));
  CHECK(master.text("time", "long_name") == (increase ? "physical time" : "iteration"));
  std::ifstream xdmf(folder.file("run.xmf"));
  const std::string text{std::istreambuf_iterator<char>(xdmf), {}};
  CHECK_THAT(text, Contains(increase ? "<Time Value=\"2.5\"/>" : "<Time Value=\"2\"/>"));
}

TEST_CASE("times of variables of different steps that only together do not increase are the steps' numbers in XDMF") {
  const TempFolder folder;
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "v", DC_INT32, 1), variable_info(1, "w", DC_INT32, 1)};
  MadeRun run(folder.path(), 1, variables);
  for (int step = 0; step < 4; ++step) {
    Blocks blocks(step);
    blocks.view().has_time = 1;
    blocks.view().time = step < 2 ? step : step - 2 + 0.5;  // 0, 1, 0.5, 1.5
    place(blocks.add(variables[static_cast<std::size_t>(step % 2)], 0, {1}, std::vector<int>{step}), {0});
    run.store(0, blocks);
  }
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).text("time", "long_name") == "physical time");
  std::ifstream xdmf(folder.file("run.xmf"));
  const std::string text{std::istreambuf_iterator<char>(xdmf), {}};
  CHECK_THAT(text, Contains("<Time Value=\"3\"/>"));
}
