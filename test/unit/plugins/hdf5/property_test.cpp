// Whatever the shape, the type, the cut into blocks and files, the ghost zones and the reduction: what was written is what each way of
// reading gives, to the last bit or within the declared error.
#include <sys/wait.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "core/base/box.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "support/temp_folder.hpp"
#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/hdf5/made_run.hpp"
#include "unit/plugins/hdf5/zstd_filter.hpp"

using namespace damaris::test;
using damaris::Box;

namespace {

constexpr int kCases = 60;
constexpr double kGarbage = -77;  // in ghost zones

// How the values may be changed.
struct Reduction {
  const char* text;
  dc_reduction_t meaning;
  double absolute, relative;  // errors allowed
  bool reals_only;
};

const Reduction kReductions[] = {
    {"", {}, 0, 0, false},
    {"none, deflate:1", {DC_EXACT, 0, 0, 0, 0, 0, DC_CODEC_DEFLATE, 1}, 0, 0, false},
    {"none, deflate:9", {DC_EXACT, 0, 0, 0, 0, 0, DC_CODEC_DEFLATE, 9}, 0, 0, false},
    {"none, zstd:3", {DC_EXACT, 0, 0, 0, 0, 0, DC_CODEC_ZSTD, 3}, 0, 0, false},
    {"absolute:0.25, deflate", {DC_ROUND_ABSOLUTE, 0.25, 0, 0, 0, 0, DC_CODEC_DEFLATE, 1}, 0.25, 0, true},
    {"relative:1e-3", {DC_ROUND_RELATIVE, 1e-3, 0, 0, 0, 0, DC_CODEC_NONE, 0}, 0, 1e-3, true},
    {"float16:1:0, deflate", {DC_FLOAT16, 0, 1, 1, 0, 0, DC_CODEC_DEFLATE, 1}, 1e-4, 1.0 / 2048, true},
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(engine_); }

 private:
  std::mt19937 engine_;
};

// A box is cut again and again at a random place, so that blocks are uneven and those of a server need not make a box.
std::vector<Box> random_cut(Random& random, const Box& whole, int blocks) {
  std::vector<Box> boxes = {whole};
  for (int tries = 0; static_cast<int>(boxes.size()) < blocks && tries < 100; ++tries) {
    Box& box = boxes[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(boxes.size()) - 1))];
    const int d = static_cast<int>(random.from(0, box.ndims - 1));
    if (box.extent(d) < 2) continue;
    Box upper = box;
    box.high[d] = upper.low[d] = random.from(box.low[d] + 1, box.high[d] - 1);
    boxes.push_back(upper);
  }
  return boxes;
}

std::int64_t place_in(const Box& whole, const damaris::Extents& at) {
  std::int64_t place = 0;
  for (int d = 0; d < whole.ndims; ++d) place = place * whole.extent(d) + at[d];
  return place;
}

// Calls visit(position) for each element, the last dimension fastest.
template <class Visit>
void for_each(const Box& box, Visit&& visit) {
  damaris::Extents at = box.low;
  for (std::int64_t left = volume(box); left > 0; --left) {
    visit(at);
    for (int d = box.ndims - 1; d >= 0 && ++at[d] == box.high[d]; --d) at[d] = box.low[d];
  }
}

template <class Value>
struct Array {
  Box whole;
  std::vector<Value> values;  // in C order
  Value at(const damaris::Extents& position) const { return values[static_cast<std::size_t>(place_in(whole, position))]; }
};

template <class Value>
Array<Value> random_array(Random& random) {
  Array<Value> array;
  array.whole.ndims = static_cast<int>(random.from(1, 4));
  std::int64_t most = 30'000;
  for (int d = 0; d < array.whole.ndims; ++d) {
    array.whole.high[d] = random.from(1, std::min<std::int64_t>(most, d + 1 == array.whole.ndims ? 3000 : 40));
    most = std::max<std::int64_t>(most / array.whole.high[d], 1);
  }
  const double scale = std::is_integral<Value>::value ? 100 : 300;
  for (std::int64_t i = 0; i < volume(array.whole); ++i)
    array.values.push_back(
        static_cast<Value>(scale * std::sin(0.01 * static_cast<double>(i)) + static_cast<double>(random.from(0, 9))));
  return array;
}

// The block of a client with ghost zones of random width around its interior, filled with what must not be stored.
template <class Value>
void add_block(Random& random, Blocks& blocks, const dc_variable_info_t& variable, std::int32_t source, const Array<Value>& array,
               const Box& interior) {
  Box memory = interior;
  Numbers low, high, extents, position;
  for (int d = 0; d < interior.ndims; ++d) {
    low.push_back(random.from(0, 2));
    high.push_back(random.from(0, 2));
    memory.low[d] -= low.back();
    memory.high[d] += high.back();
    extents.push_back(memory.extent(d));
    position.push_back(interior.low[d]);
  }
  std::vector<Value> values;
  for_each(memory, [&](const damaris::Extents& at) {
    bool inside = true;
    for (int d = 0; d < interior.ndims; ++d) inside = inside && at[d] >= interior.low[d] && at[d] < interior.high[d];
    values.push_back(inside ? array.at(at) : static_cast<Value>(kGarbage));
  });
  dc_dataset_t& block = blocks.add(variable, source, extents, values);
  place(block, position);
  ghost(block, low, high);
  for (int d = 0; d < interior.ndims; ++d) block.global[d] = array.whole.extent(d);
}

template <class Value>
void check_close(const Value& found, const Value& wanted, const Reduction& reduction) {
  const double error = std::abs(static_cast<double>(found) - static_cast<double>(wanted));
  const double allowed = std::max(reduction.absolute, reduction.relative * std::abs(static_cast<double>(wanted)));
  if (error > allowed) FAIL("found " << +found << " for " << +wanted << ", allowed is an error of " << allowed);
}

// What a client of another run gets for a random part of the array.
template <class Value>
void check_restart(Random& random, const TempFolder& folder, const dc_variable_info_t& variable, const Array<Value>& array,
                   const Reduction& reduction) {
  FakeHost host(Settings{{"basename", folder.file("later")}, {"restart", folder.file("storm")}}, {variable});
  RunningPlugin plugin("hdf5", host);
  REQUIRE(plugin.init_code == DC_OK);
  Box part = array.whole;
  Numbers extents, position;
  for (int d = 0; d < part.ndims; ++d) {
    part.low[d] = random.from(0, part.high[d] - 1);
    part.high[d] = random.from(part.low[d] + 1, part.high[d]);
    extents.push_back(part.extent(d));
    position.push_back(part.low[d]);
  }
  Question<Value> question(variable, 3, extents);
  question.at(position);
  for (int d = 0; d < part.ndims; ++d) question.read.global[d] = array.whole.extent(d);
  const int code = plugin.read(question.read);
  INFO(host.failure);
  REQUIRE(code == DC_OK);
  std::size_t next = 0;
  for_each(part, [&](const auto& at) { check_close(question.values[next++], array.at(at), reduction); });
}

template <class Value>
void check_case(unsigned seed, dc_type type) {
  Random random(seed);
  const Array<Value> array = random_array<Value>(random);
  const bool real = type == DC_FLOAT32 || type == DC_FLOAT64;
  const Reduction& reduction = kReductions[random.from(0, real ? 6 : 3)];
  const int servers = static_cast<int>(random.from(1, 4)), clients = static_cast<int>(random.from(1, 4));
  INFO("seed " << seed << ", " << array.whole.ndims << " dimensions, reduce=\"" << reduction.text << "\", " << servers
               << " servers of " << clients << " clients");
  dc_variable_info_t variable = variable_info(0, "fields/v", type, array.whole.ndims);
  variable.has_global = 1;
  variable.reduce = reduction.text;
  variable.reduction = reduction.meaning;
  if (random.from(0, 2) == 0)
    for (int d = 0; d < variable.ndims; ++d) variable.chunk[d] = random.from(1, 50);
  const TempFolder folder;
  {
    MadeRun run(folder.path().string(), servers, {variable});
    const std::vector<Box> boxes = random_cut(random, array.whole, servers * clients);
    for (int server = 0; server < servers; ++server) {
      Blocks blocks(3);
      for (std::size_t i = 0; i < boxes.size(); ++i)
        if (static_cast<int>(i) % servers == server)
          add_block(random, blocks, variable, static_cast<std::int32_t>(i), array, boxes[i]);
      run.store(server, blocks);
    }
    run.finish();
  }
  const ReadFile master(folder.file("storm.h5"));
  std::vector<hsize_t> extents = {1};
  for (int d = 0; d < array.whole.ndims; ++d) extents.push_back(static_cast<hsize_t>(array.whole.extent(d)));
  REQUIRE(master.extents("fields/v") == extents);
  const damaris::manifest::Verification found = damaris::hdf5::verify(folder.file("storm"), {});
  install_zstd();
  CHECK(found.damaged.empty());
  CHECK(found.partial.empty());
  const std::vector<Value> stored = master.converted<Value>("fields/v");
  for (std::size_t i = 0; i < stored.size(); ++i) check_close(stored[i], array.values[i], reduction);
  check_restart(random, folder, variable, array, reduction);
}

}  // namespace

TEST_CASE("property: whatever the shape, type, cut, ghost zones and reduction, what is read is what was written") {
  for (unsigned seed = 0; seed < kCases; ++seed) {
    switch (seed % 6) {
      case 0:
        check_case<float>(seed, DC_FLOAT32);
        break;
      case 1:
        check_case<double>(seed, DC_FLOAT64);
        break;
      case 2:
        check_case<std::int32_t>(seed, DC_INT32);
        break;
      case 3:
        check_case<std::uint8_t>(seed, DC_UINT8);
        break;
      case 4:
        check_case<std::int64_t>(seed, DC_INT64);
        break;
      default:
        check_case<std::int16_t>(seed, DC_INT16);
    }
  }
}

namespace {

// Of two whole files, but for what tells when and by whom they were written: 0 when nothing differs.
int status_of_h5diff(const std::string& arguments) {
  const int status = std::system(("h5diff --exclude-attribute / " + arguments + " > h5diff.out 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// How many values differ.
int h5diff(const std::string& arguments) {
  if (std::system(("h5diff -v " + arguments + " > h5diff.out 2>&1").c_str()) == -1) return -1;
  std::ifstream out("h5diff.out");
  for (std::string line; std::getline(out, line);)
    if (line.find(" differences found") != std::string::npos) return std::stoi(line);
  return -1;
}

}  // namespace

TEST_CASE("h5diff finds no difference for lossless reduction, and none larger than declared for others") {
  const dc_variable_info_t plain = variable_info(0, "v", DC_FLOAT32, 2);
  std::vector<float> values(300 * 500);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 280.0F + static_cast<float>(20 * std::sin(0.001 * static_cast<double>(i)));
  const TempFolder folder;
  const auto store = [&](const std::string& name, const dc_variable_info_t& variable) {
    FakeHost host(Settings{{"basename", folder.file(name)}}, {variable});
    RunningPlugin plugin("hdf5", host);
    Blocks blocks(0);
    place(blocks.add(variable, 0, {300, 500}, values), {0, 0});
    REQUIRE(plugin.on_step(blocks.view()) == DC_OK);
    return "'" + folder.file(name + ".node7.s3.i0.h5") + "' ";
  };
  const std::string exact = store("exact", plain);
  for (const Reduction& reduction : kReductions) {
    if (reduction.meaning.codec == DC_CODEC_ZSTD) continue;  // h5diff needs the filter installed
    dc_variable_info_t variable = plain;
    variable.reduce = reduction.text;
    variable.reduction = reduction.meaning;
    const std::string reduced = store("reduced", variable);
    INFO(reduction.text);
    const bool lossless = reduction.absolute == 0 && reduction.relative == 0;
    const std::string option = lossless                 ? ""
                               : reduction.relative > 0 ? "-p " + std::to_string(reduction.relative)
                                                        : "-d " + std::to_string(reduction.absolute);
    CHECK(h5diff(option + " " + exact + reduced + "/v /v") == 0);
    CHECK(status_of_h5diff((lossless ? "" : "--exclude-attribute /v " + option + " ") + exact + reduced) == 0);
    CHECK(status_of_h5diff(exact + reduced) == (lossless ? 0 : 1));
    if (!lossless) CHECK(h5diff(exact + reduced + "/v /v") > 0);
  }
}
