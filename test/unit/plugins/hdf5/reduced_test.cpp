// Variables with a reduction, read back by HDF5 alone.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "support/manifest_lines.hpp"
#include "support/peak_memory.hpp"
#include "unit/plugins/hdf5/fixture.hpp"

namespace damaris::test {
namespace {

// 3 tiles of a 2D field, large enough for several chunks of which the last ones are not full.
struct Field {
  static constexpr std::int64_t kRows = 700, kTiles = 3, kColumns = 611;

  explicit Field(const dc_reduction_t& reduction, dc_type type = DC_FLOAT32) : variable(variable_info(0, "v", type, 2)) {
    variable.reduction = reduction;
    variable.reduce = "as asked";
    std::mt19937 random(7);
    std::normal_distribution<float> noise(0, 0.1F);
    for (std::int64_t i = 0; i < kTiles * kRows * kColumns; ++i)
      values.push_back(280 + 10 * std::sin(static_cast<float>(i % kColumns) / 100) + noise(random));
  }

  template <class T>
  Blocks blocks() const {
    Blocks blocks(0);
    for (std::int64_t tile = 0; tile < kTiles; ++tile) {
      const auto first = values.begin() + tile * kRows * kColumns;
      dc_dataset_t& block =
          blocks.add(variable, static_cast<std::int32_t>(tile), {kRows, kColumns}, std::vector<T>(first, first + kRows * kColumns));
      block.has_position = 1;
      block.position[0] = tile * kRows;
    }
    return blocks;
  }

  dc_variable_info_t variable;
  std::vector<float> values;
};

dc_reduction_t compressed(dc_codec codec, int level) {
  dc_reduction_t reduction = {};
  reduction.codec = codec;
  reduction.level = level;
  return reduction;
}

dc_reduction_t changed(dc_precision precision, double bound = 0) {
  dc_reduction_t reduction = compressed(DC_CODEC_DEFLATE, 1);
  reduction.precision = precision;
  reduction.bound = bound;
  return reduction;
}

double largest_error(const std::vector<float>& stored, const std::vector<float>& given, bool relative) {
  double largest = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double error = std::abs(static_cast<double>(stored[i]) - static_cast<double>(given[i]));
    largest = std::max(largest, relative ? error / std::abs(static_cast<double>(given[i])) : error);
  }
  return largest;
}

std::vector<H5Z_filter_t> filters_of(const ReadFile& file, const char* path) {
  const hid_t set = H5Dopen2(file.id(), path, H5P_DEFAULT), properties = H5Dget_create_plist(set);
  std::vector<H5Z_filter_t> filters;
  for (unsigned i = 0; i < static_cast<unsigned>(H5Pget_nfilters(properties)); ++i)
    filters.push_back(H5Pget_filter2(properties, i, nullptr, nullptr, nullptr, 0, nullptr, nullptr));
  H5Pclose(properties);
  H5Dclose(set);
  return filters;
}

TEST_CASE("HDF5's own filter reads deflate from outside HDF5 bit for bit, with one thread and with several", "[threads]") {
  const Field field(compressed(DC_CODEC_DEFLATE, GENERATE(1, 6)));
  Fixture run({field.variable}, {{"threads", GENERATE("1", "3")}});
  Blocks blocks = field.blocks<float>();
  const ReadFile file = run.stored(blocks);
  CHECK(file.values<float>("v") == field.values);
  CHECK(filters_of(file, "v") == std::vector<H5Z_filter_t>{H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE});
  CHECK(run.host.files.back().bytes < field.values.size() * 4);
}

TEST_CASE("a dataset that is too small to gain is contiguous, whatever its reduction, and with a chunk of its own it is not") {
  const std::int64_t rows = GENERATE(32, 33), chunk = GENERATE(0, 8);  // 4096 bytes, and more
  auto variable = variable_info(0, "v", DC_FLOAT32, 2);
  variable.reduction = changed(GENERATE(DC_EXACT, DC_ROUND_ABSOLUTE, DC_FLOAT16), 0.5);
  variable.chunk[0] = variable.chunk[1] = chunk;
  Fixture run({variable}, {{"filters", "deflate:1"}});
  Blocks blocks(0);
  const std::vector<float> values(static_cast<std::size_t>(rows) * 32, 3);
  blocks.add(variable, 0, {rows, 32}, values);
  const ReadFile file = run.stored(blocks);
  CHECK(file.converted<float>("v/0").size() == values.size());
  CHECK(filters_of(file, "v/0").empty() == (rows == 32 && chunk == 0));
}

TEST_CASE("chunks that are too large for the memory are split, the values are the same, and the log says so once", "[threads]") {
  Field field(compressed(DC_CODEC_DEFLATE, 1));
  std::copy_n(std::array<std::int64_t, 2>{4000, 4000}.begin(), 2, field.variable.chunk);
  Fixture run({field.variable}, {{"threads", "3"}, {"memory-bytes", std::to_string(16 << 20)}});
  Blocks blocks = field.blocks<float>();
  const ReadFile file = run.stored(blocks);
  CHECK(file.values<float>("v") == field.values);
  const hid_t set = H5Dopen2(file.id(), "v", H5P_DEFAULT), properties = H5Dget_create_plist(set);
  hsize_t chunk[2] = {};
  H5Pget_chunk(properties, 2, chunk);
  H5Pclose(properties);
  H5Dclose(set);
  CHECK((chunk[0] == 263 && chunk[1] == 611));  // 2100 rows, halved until five of them fit into 4 MiB
  const auto tells = [](const auto& line) { return line.second.find("the chunk of 'v' may be split") != std::string::npos; };
  CHECK(std::count_if(run.host.lines.begin(), run.host.lines.end(), tells) == 1);
}

// In a process of its own, where nothing else has taken more before.
TEST_CASE("storing takes no more memory than the XML allows, whatever chunks it requests") {
  if (!kMemoryIsOurs) {
    WARN("skipped: a sanitizer takes memory of its own");
    return;
  }
  constexpr std::uint64_t kMemory = std::uint64_t{64} << 20, kOfHdf5 = std::uint64_t{8} << 20;
  auto variable = variable_info(0, "v", DC_FLOAT32, 2);
  variable.reduction = changed(DC_ROUND_ABSOLUTE, 0.1);
  variable.chunk[0] = variable.chunk[1] = 10'000;
  const TempFolder folder;
  Blocks blocks(0);
  blocks.add(variable, 0, {8000, 4000}, std::vector<float>(32'000'000, 1.5F));
  const pid_t child = ::fork();
  if (child == 0) {
    FakeHost host({{"basename", folder.file("storm")}, {"threads", "4"}, {"memory-bytes", std::to_string(kMemory)}}, {variable});
    RunningPlugin plugin("hdf5", host);
    const std::uint64_t before = peak_bytes();
    const bool stored = plugin.init_code == DC_OK && plugin.on_step(blocks.view()) == DC_OK;
    ::_exit(!stored ? 1 : peak_bytes() - before > kMemory + kOfHdf5 ? 2 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);  // 1: not stored; 2: it took more
}

TEST_CASE("values that are rounded and not compressed go through HDF5's own filters") {
  dc_reduction_t reduction = changed(DC_ROUND_ABSOLUTE, 0.02);
  reduction.codec = DC_CODEC_NONE;
  const Field field(reduction);
  Fixture run({field.variable}, {{"filters", "shuffle,deflate:1"}});
  Blocks blocks = field.blocks<float>();
  const ReadFile file = run.stored(blocks);
  CHECK(filters_of(file, "v") == std::vector<H5Z_filter_t>{H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE});
  CHECK(largest_error(file.values<float>("v"), field.values, false) <= 0.02);
  CHECK(run.host.files.back().bytes < field.values.size() * 2);
}

TEST_CASE("16 bits that a reader would see as infinite are an overflow") {
  dc_reduction_t reduction = changed(DC_FLOAT16);
  reduction.has_packing = 1;
  reduction.scale = 1e308;
  auto variable = variable_info(0, "v", DC_FLOAT64, 1);
  variable.reduction = reduction;
  variable.reduce = "as asked";
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {2}, std::vector<double>{1, std::numeric_limits<double>::max()});
  CHECK(run.plugin.on_step(blocks.view()) == DC_E_IO);
  CHECK(run.host.failure.find("'v' holds values from 1 to 1.79769e+308, which overflow 16 bits") == 0);
}

TEST_CASE("zstd carries its registered filter, which a reader needs") {
  const Field field(compressed(DC_CODEC_ZSTD, 3));
  Fixture run({field.variable});
  Blocks blocks = field.blocks<float>();
  const ReadFile file = run.stored(blocks);
  CHECK(filters_of(file, "v") == std::vector<H5Z_filter_t>{H5Z_FILTER_SHUFFLE, 32015});
  CHECK(run.host.files.back().bytes < field.values.size() * 4);
}

TEST_CASE("noise that does not become smaller is stored unchanged") {
  auto variable = variable_info(0, "v", DC_UINT8, 1);
  variable.reduction = compressed(DC_CODEC_DEFLATE, 1);
  std::mt19937 random(3);
  std::vector<std::uint8_t> noise(300'000);
  for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random());
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {300'000}, noise);
  CHECK(run.stored(blocks).values<std::uint8_t>("v/0") == noise);
}

TEST_CASE("rounding stays within the declared error and records the actual one") {
  const bool relative = GENERATE(false, true);
  const double bound = relative ? 1e-4 : 0.02;
  const Field field(changed(relative ? DC_ROUND_RELATIVE : DC_ROUND_ABSOLUTE, bound));
  Fixture run({field.variable});
  Blocks blocks = field.blocks<float>();
  const ReadFile file = run.stored(blocks);
  const double error = largest_error(file.values<float>("v"), field.values, relative);
  CHECK(error <= bound);
  CHECK(error > bound / 10);
  CHECK(file.attribute<double>("v", relative ? "largest_relative_error" : "largest_error").at(0) == Approx(error));
  CHECK(file.attribute<double>("v", "error_bound").at(0) == bound);
}

TEST_CASE("16 bits are read by HDF5 as they are, and undone by scale and offset") {
  const dc_type type = GENERATE(DC_FLOAT32, DC_FLOAT64);
  const Field field(changed(DC_FLOAT16), type);
  Fixture run({field.variable});
  Blocks blocks = type == DC_FLOAT32 ? field.blocks<float>() : field.blocks<double>();
  const ReadFile file = run.stored(blocks);
  const double scale = file.attribute<double>("v", "scale_factor").at(0), offset = file.attribute<double>("v", "add_offset").at(0);
  std::vector<float> values = file.converted<float>("v");
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) * scale + offset);
  const double error = largest_error(values, field.values, false);
  CHECK(error < 0.01);
  CHECK(file.attribute<double>("v", "largest_error").at(0) == Approx(error).margin(1e-4));
}

TEST_CASE("values that fill up the last chunk count in no error and no range") {
  auto list = variable_info(0, "list", DC_FLOAT64, 1), plane = variable_info(1, "plane", DC_FLOAT32, 2);
  const double scale = GENERATE(0.3, 1e-3);  // with the latter a zero would overflow
  for (dc_variable_info_t* const variable : {&list, &plane}) {
    variable->reduction = changed(DC_FLOAT16);
    variable->reduction.has_packing = 1;
    variable->reduction.scale = scale;
    variable->reduction.offset = 1000;
    variable->chunk[0] = variable->chunk[1] = 4;
  }
  Fixture run({list, plane});
  Blocks blocks(0);
  blocks.add(list, 0, {5}, std::vector<double>(5, 1000));
  for (std::int32_t half : {0, 1})  // chunks of two blocks
    place(blocks.add(plane, half, {3, 5}, std::vector<float>(15, 1000 + static_cast<float>(half) / 1024)), {3 * half, 0});
  const ReadFile file = run.stored(blocks);
  CHECK(file.attribute<double>("list/0", "largest_error").at(0) == 0);
  CHECK(file.attribute<double>("list/0", "value_range") == std::vector<double>{1000, 1000});
  CHECK(file.converted<double>("list/0") == std::vector<double>(5, 0));
  CHECK(file.attribute<double>("plane", "largest_error").at(0) < 1e-5);
  CHECK(file.attribute<double>("plane", "value_range") == std::vector<double>{1000, 1000 + 1.0 / 1024});
  const std::vector<double> stored = file.converted<double>("plane");
  for (std::size_t k = 0; k < 30; ++k) CHECK(stored[k] * scale == Approx(k < 15 ? 0 : 1.0 / 1024).margin(1e-5));
}

TEST_CASE("values that overflow 16 bits are refused with their range, or keep their type where the XML says so") {
  dc_reduction_t reduction = changed(DC_FLOAT16);
  reduction.has_packing = 1;
  reduction.scale = 1e-4;
  reduction.keep_on_overflow = GENERATE(0, 1);
  const Field field(reduction);
  Fixture run({field.variable});
  Blocks blocks = field.blocks<float>();
  if (reduction.keep_on_overflow == 0) {
    CHECK(run.plugin.on_step(blocks.view()) == DC_E_IO);
    CHECK(run.host.failure.find("'v' holds values from 26") == 0);
    CHECK(run.host.failure.find("which overflow 16 bits with reduce=\"as asked\"; give another scale or none, or add :keep") !=
          std::string::npos);
    CHECK(run.listing().empty());
    return;
  }
  const ReadFile file = run.stored(blocks);
  CHECK(file.values<float>("v") == field.values);
  CHECK(file.attribute<std::int32_t>("v", "overflowed_float16").at(0) == 1);
}

TEST_CASE("a value that no scale of 16 bits can hold makes its dataset keep its type, and changes nothing in other steps") {
  const double most = std::numeric_limits<double>::max();
  const double bad = GENERATE_COPY(values<double>({most, -most, 0x1p1023, -0x1p1023}));
  CAPTURE(bad);
  auto bits16 = variable_info(0, "bits16", DC_FLOAT64, 1), plain = variable_info(1, "plain", DC_INT32, 1);
  bits16.reduction = changed(DC_FLOAT16);
  Fixture run({bits16, plain});
  for (std::int64_t step = 0; step < 3; ++step) {
    Blocks blocks(step);
    blocks.add(bits16, 0, {3}, std::vector<double>{1, step == 1 ? bad : 2, 0});
    blocks.add(plain, 0, {1}, std::vector<std::int32_t>{static_cast<std::int32_t>(step)});
    const ReadFile file = run.stored(blocks);
    CHECK(file.values<std::int32_t>("plain/0") == std::vector<std::int32_t>{static_cast<std::int32_t>(step)});
    const bool keeps_type = step == 1 && std::fabs(bad) == most;
    CHECK(file.has_attribute("bits16/0", "overflowed_float16") == keeps_type);
    const double scale = keeps_type ? 1 : file.attribute<double>("bits16/0", "scale_factor").at(0);
    CHECK(scale == (step == 1 && !keeps_type ? 0x1p1008 : 1));
    CHECK(file.converted<double>("bits16/0").at(1) * scale == (step == 1 ? bad : 2));
  }
}

TEST_CASE("a dataset that must not overflow is omitted only from its step, as the manifest and the caller are notified") {
  auto narrow = variable_info(0, "narrow", DC_FLOAT32, 1), plain = variable_info(1, "plain", DC_INT32, 1);
  narrow.reduction = changed(DC_FLOAT16);
  narrow.reduction.has_packing = 1;
  narrow.reduction.scale = 1;
  Fixture run({narrow, plain});
  for (std::int64_t step = 0; step < 3; ++step) {
    Blocks blocks(step);
    blocks.add(narrow, 0, {2}, std::vector<float>{1, step == 1 ? 1e6F : 2});
    blocks.add(narrow, 1, {2}, std::vector<float>{3, 4});
    blocks.add(plain, 0, {1}, std::vector<std::int32_t>{7});
    CHECK(run.plugin.on_step(blocks.view()) == (step == 1 ? DC_E_IO : DC_OK));
    const ReadFile file(run.path(step));
    CHECK(file.has("narrow/0") == (step != 1));
    CHECK(file.converted<float>("narrow/1") == std::vector<float>{3, 4});
    CHECK(file.values<std::int32_t>("plain/0") == std::vector<std::int32_t>{7});
  }
  CHECK(run.host.failure.find("only 'narrow/0' is not stored") != std::string::npos);
  const std::string record = logs_text(run.folder.file("storm"));
  CHECK(record.find("\"step\":0,\"complete\":true") != std::string::npos);
  CHECK(record.find("\"step\":1,\"complete\":false") != std::string::npos);
  CHECK(record.find("\"failures\":[\"'narrow' holds values from 1 to 1e+06") != std::string::npos);
  CHECK(record.find("\"step\":2,\"complete\":true") != std::string::npos);
}

TEST_CASE("the extremes of a type are stored under every reduction that accepts it, and other values stay unchanged") {
  using Limits = std::numeric_limits<double>;
  const double bound = GENERATE(5e-324, 1e-300, 0.5, 1e300, 1.7e308);
  const dc_precision precision = GENERATE(DC_EXACT, DC_ROUND_ABSOLUTE, DC_ROUND_RELATIVE, DC_FLOAT16);
  auto reals = variable_info(0, "reals", DC_FLOAT64, 1), plain = variable_info(1, "plain", DC_INT64, 1);
  reals.reduction = changed(precision, precision == DC_ROUND_RELATIVE ? std::min(bound, 0.5) : bound);
  plain.reduction = compressed(GENERATE(DC_CODEC_DEFLATE, DC_CODEC_ZSTD), 1);
  Fixture run({reals, plain});
  const std::vector<double> given = {Limits::max(), -Limits::max(),         Limits::denorm_min(), -Limits::denorm_min(),
                                     Limits::min(), Limits::infinity(),     -Limits::infinity(),  Limits::quiet_NaN(),
                                     -0.0,          Limits::signaling_NaN()};
  const std::vector<std::int64_t> integers = {INT64_MIN, INT64_MAX, 0, -1};
  Blocks blocks(0);
  blocks.add(reals, 0, {10}, given);
  for (std::int32_t k = 0; k < 10; ++k) blocks.add(reals, k + 1, {1}, std::vector<double>{given[static_cast<std::size_t>(k)]});
  blocks.add(plain, 0, {4}, integers);
  const ReadFile file = run.stored(blocks);
  const std::vector<double> stored = file.converted<double>("reals/0");
  for (std::size_t k = 5; k < 10; ++k) {
    CHECK(std::isnan(stored[k]) == std::isnan(given[k]));
    if (!std::isnan(given[k])) CHECK(stored[k] == given[k]);
  }
  CHECK(std::signbit(stored[8]));
  CHECK(file.attribute<double>("reals/0", "value_range") == std::vector<double>{-Limits::max(), Limits::max()});
  CHECK(file.has_attribute("reals/0", "overflowed_float16") == (precision == DC_FLOAT16));
  if (plain.reduction.codec == DC_CODEC_DEFLATE) CHECK(file.values<std::int64_t>("plain/0") == integers);
}

TEST_CASE("a scalar, an empty block and NaN are stored under every reduction") {
  const dc_precision precision = GENERATE(DC_EXACT, DC_ROUND_ABSOLUTE, DC_ROUND_RELATIVE, DC_FLOAT16);
  auto variable = variable_info(0, "v", DC_FLOAT32, 1);
  variable.reduction = changed(precision, 0.5);
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {1}, std::vector<float>{1});
  blocks.add(variable, 1, {0}, std::vector<float>{});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  blocks.add(variable, 2, {3}, std::vector<float>{nan, nan, nan});
  const ReadFile file = run.stored(blocks);
  CHECK(file.converted<float>("v/1").empty());
  for (const float value : file.converted<float>("v/2")) CHECK(std::isnan(value));
}

}  // namespace
}  // namespace damaris::test
