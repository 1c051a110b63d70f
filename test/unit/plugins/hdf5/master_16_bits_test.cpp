// When variables of 16 bits are shown as one array, read with HDF5's own calls.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

dc_variable_info_t in_16_bits(const char* reduce, double scale = 0) {
  auto variable = variable_info(0, "v", DC_FLOAT32, 1);
  variable.reduction.precision = DC_FLOAT16;
  variable.reduction.has_packing = scale > 0 ? 1 : 0;
  variable.reduction.scale = scale;
  variable.reduction.keep_on_overflow = 1;
  variable.reduce = reduce;
  return variable;
}

void store_floats(MadeRun& run, const dc_variable_info_t& variable, std::int64_t step, int server, const std::vector<float>& values,
                  std::int64_t position = 0) {
  Blocks blocks(step);
  place(blocks.add(variable, server, {static_cast<std::int64_t>(values.size())}, values), {position});
  run.store(server, blocks);
}

// value = stored * scale + offset
std::vector<float> dequantized(const ReadFile& file, const std::string& path) {
  std::vector<float> values = file.converted<float>(path);
  const double scale = file.attribute<double>(path, "scale_factor")[0], offset = file.attribute<double>(path, "add_offset")[0];
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * scale + offset);
  return values;
}

void check_close(const std::vector<float>& values, const std::vector<float>& expected, double error) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(error));
}

}  // namespace

TEST_CASE("16 bits with a scale chosen by the server are shown, as long as the scale fits") {
  const TempFolder folder;
  const auto variable = in_16_bits("float16");
  MadeRun run(folder.path(), 2, {variable});
  // Servers choose alone; around zero they agree as long as their values are of similar magnitude, and zeros agree with all.
  store_floats(run, variable, 0, 0, {0, 0});
  store_floats(run, variable, 0, 1, {-1, 3}, 2);
  for (int step = 1; step < 4; ++step) {
    const auto factor = static_cast<float>(step);
    store_floats(run, variable, step, 0, {0.5F * factor, 70 * factor});
    store_floats(run, variable, step, 1, {-factor, 3.125F * factor}, 2);
  }
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.texts("/", "not_shown").empty());
  check_close(dequantized(master, "v"), {0, 0, -1, 3, 0.5, 70, -1, 3.125, 1, 140, -2, 6.25, 1.5, 210, -3, 9.375}, 0.07);
}

TEST_CASE("16 bits around a middle far from zero keep it while the values drift") {
  const TempFolder folder;
  const auto variable = in_16_bits("float16");
  MadeRun run(folder.path(), 1, {variable});
  store_floats(run, variable, 0, 0, {280, 320});
  store_floats(run, variable, 1, 0, {278, 321});
  store_floats(run, variable, 2, 0, {284, 331});
  run.write_views();
  {
    const ReadFile master(folder.file("run.h5"));
    CHECK(master.texts("/", "not_shown").empty());
    check_close(dequantized(master, "v"), {280, 320, 278, 321, 284, 331}, 0.01);
  }
  store_floats(run, variable, 3, 0, {300, 301});  // which deserve better
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK_FALSE(master.has("v"));
  REQUIRE(master.texts("/", "not_shown").size() == 1);
  CHECK_THAT(master.texts("/", "not_shown")[0],
             Contains("v: its 16-bit parts have different scales and offsets (storm.node7.s0.i0.h5 and storm.node7.s0.i3.h5)"));
}

TEST_CASE("a block without elements, without finite values, or of zeros does not hide a variable of 16 bits") {
  const TempFolder folder;
  const double scale = GENERATE(0.0, 0.25);
  const auto variable = in_16_bits("float16", scale);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  MadeRun run(folder.path(), 1, {variable});
  store_floats(run, variable, 0, 0, {});
  store_floats(run, variable, 1, 0, {nan, nan});
  store_floats(run, variable, 2, 0, {0, 0});
  store_floats(run, variable, 3, 0, {1e-9F, -1e-9F});
  store_floats(run, variable, 4, 0, {});
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.texts("/", "not_shown").empty());
  const std::vector<float> values = dequantized(master, "v");
  REQUIRE(values.size() == 10);
  for (const std::size_t hole : {0, 1, 2, 3, 8, 9}) CHECK(std::isnan(values[hole]));
  check_close({values.begin() + 4, values.begin() + 8}, {0, 0, 1e-9F, -1e-9F}, 1e-12 + 0.25 * scale * 1e-7);
  CHECK(ReadFile(run.path(0, 4)).element_bytes("v") == 2);
}

TEST_CASE("a variable with values that overflowed 16 bits is not shown, with that as the reason") {
  const TempFolder folder;
  const auto variable = in_16_bits("float16:1:0:keep", 1);
  MadeRun run(folder.path(), 1, {variable});
  store_floats(run, variable, 0, 0, {1, 2});
  store_floats(run, variable, 1, 0, {1e6F, 2});
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK_FALSE(master.has("v"));
  REQUIRE(master.texts("/", "not_shown").size() == 1);
  CHECK_THAT(master.texts("/", "not_shown")[0],
             Contains("v: its values overflow 16 bits in storm.node7.s0.i1.h5 and keep their type"));
}
