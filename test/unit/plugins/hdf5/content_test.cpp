// What is inside the files: types, shapes, groups, one dataset per source.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <numeric>
#include <thread>

#include "unit/plugins/hdf5/fixture.hpp"

using namespace damaris::test;

namespace {

template <class Value>
void store_and_compare(dc_type type) {
  const auto variable = variable_info(0, "v", type, 1);
  using Limits = std::numeric_limits<Value>;
  const std::vector<Value> values = {Limits::lowest(), Limits::max(), Limits::min(), Value(0), Value(1), Value(77)};
  for (const char* filters : {"", "shuffle,deflate:1"}) {
    Fixture run({variable}, {{"filters", filters}});
    Blocks blocks(0);
    blocks.add(variable, 2, {6}, values);
    REQUIRE(run.stored(blocks).template values<Value>("v/2") == values);
  }
}

}  // namespace

TEST_CASE("every element type keeps its type and its extreme values, with and without filters") {
  store_and_compare<std::int8_t>(DC_INT8);
  store_and_compare<std::int16_t>(DC_INT16);
  store_and_compare<std::int32_t>(DC_INT32);
  store_and_compare<std::int64_t>(DC_INT64);
  store_and_compare<std::uint8_t>(DC_UINT8);
  store_and_compare<std::uint16_t>(DC_UINT16);
  store_and_compare<std::uint32_t>(DC_UINT32);
  store_and_compare<std::uint64_t>(DC_UINT64);
  store_and_compare<float>(DC_FLOAT32);
  store_and_compare<double>(DC_FLOAT64);
}

TEST_CASE("a large dataset begins at a page of the file, whatever precedes it") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  Fixture run({variable});
  Blocks blocks(0);
  for (int source = 0; source < 4; ++source)
    blocks.add(variable, source, {300'001 + source}, std::vector<std::uint8_t>(static_cast<std::size_t>(300'001 + source)));
  const ReadFile file = run.stored(blocks);
  for (int source = 0; source < 4; ++source) {
    const hid_t set = H5Dopen2(file.id(), ("v/" + std::to_string(source)).c_str(), H5P_DEFAULT);
    CHECK(H5Dget_offset(set) % 4096 == 0);
    H5Dclose(set);
  }
}

TEST_CASE(
    "a large dataset begins at a multiple of alignment, chunked ones too; elsewhere stripes have no effect, which the log says "
    "once") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  const std::string filters = GENERATE("", "deflate:0");
  Fixture run({variable}, {{"alignment-bytes", "1048576"}, {"filters", filters}, {"stripe-count", "2"}});
  Blocks blocks(0);
  for (int source = 0; source < 3; ++source)
    blocks.add(variable, source, {300'001 + source}, std::vector<std::uint8_t>(static_cast<std::size_t>(300'001 + source)));
  const ReadFile file = run.stored(blocks);
  for (int source = 0; source < 3; ++source) {
    const hid_t set = H5Dopen2(file.id(), ("v/" + std::to_string(source)).c_str(), H5P_DEFAULT);
    haddr_t offset = H5Dget_offset(set);
    hsize_t size = 0, start = 0;
    const hid_t space = H5Dget_space(set);
    if (!filters.empty()) CHECK(H5Dget_chunk_info(set, space, 0, &start, nullptr, &offset, &size) >= 0);
    CHECK(offset % 1048576 == 0);
    H5Sclose(space);
    H5Dclose(set);
  }
  const auto is_about_stripes = [](const auto& line) {
    return line.second.find("is in no Lustre file system") != std::string::npos;
  };
  CHECK(std::count_if(run.host.lines.begin(), run.host.lines.end(), is_about_stripes) == 1);
}

TEST_CASE("characters become strings of one byte, zeros and blanks included") {
  const auto variable = variable_info(0, "label", DC_CHAR, 1);
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {5}, std::vector<char>{'a', ' ', '\0', 'z', '\xff'});
  const ReadFile file = run.stored(blocks);
  REQUIRE(file.bytes("label/0") == std::vector<char>{'a', ' ', '\0', 'z', '\xff'});
  const hid_t set = H5Dopen2(file.id(), "label/0", H5P_DEFAULT), type = H5Dget_type(set);
  CHECK(H5Tget_class(type) == H5T_STRING);
  CHECK(H5Tget_size(type) == 1);
  H5Tclose(type);
  H5Dclose(set);
}

namespace {

struct Particle {
  std::int32_t id;
  double velocity[3];
  char kind;
};
const dc_field_t kParticleFields[] = {{"id", DC_INT32, 1, offsetof(Particle, id)},
                                      {"velocity", DC_FLOAT64, 3, offsetof(Particle, velocity)},
                                      {"kind", DC_CHAR, 1, offsetof(Particle, kind)}};

dc_variable_info_t particle_variable() {
  dc_variable_info_t variable = variable_info(0, "particles", DC_COMPOUND, 1);
  variable.element_bytes = sizeof(Particle);
  variable.type_name = "particle";
  variable.field_count = 3;
  variable.fields = kParticleFields;
  return variable;
}

}  // namespace

TEST_CASE("a compound becomes an HDF5 compound with its names, offsets and array members") {
  const auto variable = particle_variable();
  const std::vector<Particle> particles = {{1, {1, 2, 3}, 'a'}, {-2, {4, 5, 6}, 'b'}};
  for (const char* filters : {"", "shuffle,deflate:4"}) {
    Fixture run({variable}, {{"filters", filters}});
    Blocks blocks(0);
    blocks.add(variable, 0, {2}, particles);
    const ReadFile file = run.stored(blocks);
    const hid_t set = H5Dopen2(file.id(), "particles/0", H5P_DEFAULT), type = H5Dget_type(set);
    REQUIRE(H5Tget_class(type) == H5T_COMPOUND);
    REQUIRE(H5Tget_size(type) == sizeof(Particle));
    REQUIRE(H5Tget_nmembers(type) == 3);
    CHECK(H5Tget_member_index(type, "velocity") == 1);
    CHECK(H5Tget_member_class(type, 1) == H5T_ARRAY);
    CHECK(H5Tget_member_offset(type, 2) == offsetof(Particle, kind));
    std::vector<Particle> read(2);
    REQUIRE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()) >= 0);
    CHECK((read[1].id == -2 && read[1].velocity[2] == 6 && read[1].kind == 'b' && read[0].velocity[0] == 1));
    H5Tclose(type);
    H5Dclose(set);
  }
}

TEST_CASE("rule 18: without positions blocks of different shapes are /group/variable/source, and source.block for further blocks") {
  const auto theta = variable_info(0, "fields/theta", DC_INT32, 2), count = variable_info(1, "count", DC_INT64, 1);
  Fixture run({theta, count});
  Blocks blocks(12);
  blocks.add(theta, 4, {2, 3}, std::vector<int>{1, 2, 3, 4, 5, 6});
  blocks.add(theta, 4, {1, 2}, std::vector<int>{7, 8}, 1);
  blocks.add(theta, 10, {3, 1}, std::vector<int>{9, 10, 11});
  blocks.add(count, 4, {1}, std::vector<std::int64_t>{42});
  const ReadFile file = run.stored(blocks);
  CHECK(file.extents("fields/theta/4") == std::vector<hsize_t>{2, 3});
  CHECK(file.values<int>("fields/theta/4") == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(file.values<int>("fields/theta/4.1") == std::vector<int>{7, 8});
  CHECK(file.extents("fields/theta/10") == std::vector<hsize_t>{3, 1});
  CHECK(file.values<std::int64_t>("count/4") == std::vector<std::int64_t>{42});
  CHECK(run.listing() == std::vector<std::string>{"storm.node7.s3.i12.h5"});
}

TEST_CASE("ghost zones are left out, with and without filters") {
  const auto variable = variable_info(0, "v", DC_INT32, 3);
  std::vector<int> values(4 * 5 * 6);
  std::iota(values.begin(), values.end(), 0);
  for (const char* filters : {"", "deflate:1"}) {
    Fixture run({variable}, {{"filters", filters}});
    Blocks blocks(0);
    ghost(blocks.add(variable, 0, {4, 5, 6}, values), {0, 1, 3}, {1, 2, 1});
    const ReadFile file = run.stored(blocks);
    REQUIRE(file.extents("v/0") == std::vector<hsize_t>{3, 2, 2});
    std::vector<int> wanted;
    for (int i : {0, 1, 2})
      for (int j : {1, 2})
        for (int k : {3, 4}) wanted.push_back(i * 30 + j * 6 + k);
    REQUIRE(file.values<int>("v/0") == wanted);
    REQUIRE(run.host.files.back().raw_bytes == 12 * sizeof(int));
  }
}

TEST_CASE("a block without elements becomes a dataset without elements, even with filters") {
  const auto variable = variable_info(0, "particles", DC_FLOAT32, 2);
  for (const char* filters : {"", "shuffle,deflate:1"}) {
    Fixture run({variable}, {{"filters", filters}});
    Blocks blocks(0);
    blocks.add(variable, 0, {0, 3}, std::vector<float>{});
    blocks.add(variable, 1, {1, 3}, std::vector<float>{1, 2, 3});
    const ReadFile file = run.stored(blocks);
    CHECK(file.extents("particles/0") == std::vector<hsize_t>{0, 3});
    CHECK(file.values<float>("particles/0").empty());
    CHECK(file.values<float>("particles/1") == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("a variable without dimensions becomes a scalar") {
  const auto variable = variable_info(0, "energy", DC_FLOAT64, 0);
  Fixture run({variable}, {{"filters", "deflate:1"}});
  Blocks blocks(0);
  place(blocks.add(variable, 0, {}, std::vector<double>{2.5}), {});
  const ReadFile file = run.stored(blocks);
  CHECK(file.extents("energy/0").empty());
  CHECK(file.values<double>("energy/0") == std::vector<double>{2.5});
}

TEST_CASE("eight dimensions are stored") {
  const auto variable = variable_info(0, "v", DC_INT16, 8);
  std::vector<std::int16_t> values(3 * 256);
  std::iota(values.begin(), values.end(), std::int16_t{0});
  Fixture run({variable});
  Blocks blocks(0);
  blocks.add(variable, 0, {2, 2, 2, 3, 2, 2, 2, 4}, values);
  REQUIRE(run.stored(blocks).values<std::int16_t>("v/0") == values);
}

TEST_CASE("filters compress: zeros take less room than without, in chunks no larger than 4 MiB and than the dataset") {
  const auto variable = variable_info(0, "v", DC_FLOAT64, 2);
  const std::vector<double> zeros(1500 * 1000);
  std::uint64_t bytes[2];
  for (const bool filtered : {false, true}) {
    Fixture run({variable}, {{"filters", filtered ? "shuffle,deflate:1" : ""}});
    Blocks blocks(0);
    blocks.add(variable, 0, {1500, 1000}, zeros);
    const ReadFile file = run.stored(blocks);
    const hid_t set = H5Dopen2(file.id(), "v/0", H5P_DEFAULT), properties = H5Dget_create_plist(set);
    CHECK(H5Pget_layout(properties) == (filtered ? H5D_CHUNKED : H5D_CONTIGUOUS));
    CHECK(H5Pget_nfilters(properties) == (filtered ? 2 : 0));
    hsize_t chunk[2] = {0, 0};
    if (filtered) H5Pget_chunk(properties, 2, chunk);
    CHECK(chunk[0] * chunk[1] * 8 <= 4u << 20);
    CHECK(chunk[0] <= 1500);
    H5Pclose(properties);
    H5Dclose(set);
    CHECK(file.values<double>("v/0") == zeros);
    bytes[filtered] = run.host.files.back().bytes;
    CHECK(run.host.files.back().raw_bytes == zeros.size() * 8);
  }
  CHECK(bytes[0] >= zeros.size() * 8);
  CHECK(bytes[1] < bytes[0] / 20);
}

TEST_CASE("path and size of each file are reported to the host, and a step without data makes none") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Fixture run({variable});
  Blocks empty(0), blocks(1);
  REQUIRE(run.plugin.on_step(empty.view()) == DC_OK);
  CHECK(run.listing().empty());
  CHECK(run.host.files.empty());
  blocks.add(variable, 0, {3}, std::vector<int>{1, 2, 3});
  run.stored(blocks);
  REQUIRE(run.host.files.size() == 1);
  CHECK(run.host.files[0].path == run.path(1));
  CHECK(run.host.files[0].bytes == std::filesystem::file_size(run.path(1)));
  CHECK(run.host.files[0].raw_bytes == 12);
}

TEST_CASE("two servers in one process, each with a thread of its own, store side by side", "[threads]") {
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  constexpr int kSteps = 30, kSources = 20;
  Fixture runs[2];
  std::atomic<int> failures{0};
  const auto serve = [&](Fixture& run) {
    for (int step = 0; step < kSteps; ++step) {
      Blocks blocks(step);
      for (int source = 0; source < kSources; ++source) blocks.add(variable, source, {1}, std::vector<int>{100 * step + source});
      if (run.plugin.on_step(blocks.view()) != DC_OK) ++failures;
    }
  };
  std::thread first([&] { serve(runs[0]); }), second([&] { serve(runs[1]); });
  first.join();
  second.join();
  REQUIRE(failures == 0);
  for (const Fixture& run : runs)
    for (int step = 0; step < kSteps; ++step) CHECK(ReadFile(run.path(step)).values<int>("v").at(7) == 100 * step + 7);
}
