// Which arrays of the master file have a fill value: what a reader takes for missing is missing, and nothing else.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;

namespace {

// Whether HDF5 fills the array with a value of ours.
bool is_filled(const ReadFile& file, const std::string& path) {
  const hid_t set = H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), properties = H5Dget_create_plist(set);
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  CHECK(H5Pfill_value_defined(properties, &defined) >= 0);
  H5Pclose(properties);
  H5Dclose(set);
  return defined == H5D_FILL_VALUE_USER_DEFINED;
}

template <class Value>
void store(MadeRun& run, const dc_variable_info_t& variable, int server, std::int64_t step, const std::vector<Value>& values) {
  Blocks blocks(step);
  place(blocks.add(variable, server, {2}, values), {2 * server});
  run.store(server, blocks);
}

template <class Value>
void check_full(dc_type type, const std::vector<Value>& values) {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", type, 1);
  MadeRun run(folder.path(), 1, {variable});
  store(run, variable, 0, 0, values);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK_FALSE(master.has_attribute("v", "_FillValue"));
  CHECK_FALSE(is_filled(master, "v"));
  CHECK(master.values<Value>("v") == values);
}

}  // namespace

TEST_CASE("an array without holes in which netCDF's fill value is a value has no fill value") {
  check_full<std::int8_t>(DC_INT8, {-127, 0});
  check_full<std::int16_t>(DC_INT16, {-32767, 0});
  check_full<std::int32_t>(DC_INT32, {-2147483647, 0});
  check_full<std::int64_t>(DC_INT64, {-9223372036854775806, 0});
  check_full<std::uint8_t>(DC_UINT8, {255, 0});
  check_full<std::uint16_t>(DC_UINT16, {65535, 0});
  check_full<std::uint32_t>(DC_UINT32, {4294967295, 0});
  check_full<std::uint64_t>(DC_UINT64, {18446744073709551614U, 0});
}

TEST_CASE("an array has a fill value if no value of it can be that, or if it has holes") {
  const TempFolder folder;
  const auto variable = variable_info(0, "v", DC_INT16, 1), real = variable_info(1, "r", DC_FLOAT32, 1);
  MadeRun run(folder.path(), 2, {variable, real});
  store<std::int16_t>(run, variable, 0, 0, {-32766, 32767});
  store<float>(run, real, 0, 1, {1, NAN});
  SECTION("no value") {}
  SECTION("a hole") {
    store<std::int16_t>(run, variable, 0, 1, {-32767, 0});
    store<std::int16_t>(run, variable, 1, 1, {-32767, 0});
  }
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.attribute<std::int16_t>("v", "_FillValue") == std::vector<std::int16_t>{-32767});
  CHECK(is_filled(master, "v"));
  CHECK(master.has_attribute("r", "_FillValue"));
}

TEST_CASE("elements that are too large for a fill value in the header are shown, and so are the other variables") {
  const TempFolder folder;
  constexpr std::int64_t kCount = 8192;
  const dc_field_t field = {"a", DC_FLOAT64, kCount, 0};
  auto large = variable_info(0, "large", DC_COMPOUND, 1);
  large.element_bytes = kCount * sizeof(double);
  large.field_count = 1;
  large.fields = &field;
  const auto small = variable_info(1, "small", DC_FLOAT64, 1);
  MadeRun run(folder.path(), 1, {large, small});
  const std::vector<double> values(2 * kCount, 2.5);
  Blocks blocks(0);
  place(blocks.add(large, 0, {2}, values.data()), {0});
  place(blocks.add(small, 0, {2}, values.data()), {0});
  run.store(0, blocks);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<double>("small") == std::vector<double>{2.5, 2.5});
  const std::vector<char> bytes = master.bytes("large");
  REQUIRE(bytes.size() == values.size() * sizeof(double));
  CHECK(std::memcmp(bytes.data(), values.data(), bytes.size()) == 0);
}

TEST_CASE("a variable that HDF5 cannot hold is not shown, and the master file says why; the others are shown") {
  const TempFolder folder;
  constexpr int kFields = 800;
  std::vector<std::string> names;
  for (int i = 0; i < kFields; ++i) names.push_back(std::string(100, 'f') + std::to_string(i));
  std::vector<dc_field_t> fields;
  for (const std::string& name : names) fields.push_back({name.c_str(), DC_FLOAT64, 1, fields.size() * sizeof(double)});
  auto wide = variable_info(0, "wide", DC_COMPOUND, 1);
  wide.element_bytes = kFields * sizeof(double);
  wide.field_count = kFields;
  wide.fields = fields.data();
  const auto small = variable_info(1, "small", DC_FLOAT64, 1);
  MadeRun run(folder.path(), 1, {wide, small});
  store<double>(run, small, 0, 0, {1, 2});
  std::vector<damaris::manifest::DatasetEntry>& datasets = run.records[0].files[0].datasets;
  datasets.push_back(datasets[0]);
  datasets.back().path = datasets.back().variable = "wide";
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<double>("small") == std::vector<double>{1, 2});
  CHECK(master.texts("/", "not_shown") ==
        std::vector<std::string>{"wide: cannot create the dataset wide: object header message is too large"});
}
