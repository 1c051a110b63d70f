// The chunks of a dataset that several servers fill, and who encodes which.
#include "plugins/hdf5/shared/chunk_grid.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace damaris;
using namespace damaris::hdf5;

namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{256} << 20;

dc_variable_info_t reals(int ndims) {
  dc_variable_info_t variable = {};
  variable.path = "field";
  variable.type = DC_FLOAT32;
  variable.element_bytes = 4;
  variable.ndims = ndims;
  return variable;
}

Box plane(std::int64_t y0, std::int64_t y1, std::int64_t x0, std::int64_t x1) {
  Box box = {2, {}, {}};
  box.low = {y0, x0};
  box.high = {y1, x1};
  return box;
}

// `boxes`: one or more of each member, which becomes a source of the same number.
SharedDataset dataset_of(const dc_variable_info_t& variable, const Box& whole, const std::vector<std::vector<Box>>& boxes) {
  SharedDataset dataset = {"field", &variable, true, true, whole, {}, {}, {}};
  for (std::size_t member = 0; member < boxes.size(); ++member)
    for (std::size_t i = 0; i < boxes[member].size(); ++i)
      dataset.parts.push_back(
          {static_cast<int>(member), static_cast<std::int32_t>(member), static_cast<std::int32_t>(i), boxes[member][i]});
  return dataset;
}

std::int64_t values_of(const std::vector<SharedChunk>& chunks, int member) {
  std::int64_t values = 0;
  for (const SharedChunk& chunk : chunks)
    for (const ChunkShare& share : chunk.shares)
      if (share.member == member) values += volume(share.part);
  return values;
}

bool all_simple(const std::vector<SharedChunk>& chunks) {
  return std::all_of(chunks.begin(), chunks.end(), [](const SharedChunk& chunk) { return chunk.is_simple(); });
}

}  // namespace

TEST_CASE("equal tiles of four servers share no chunk, and a chunk is at most 1 MiB") {
  const dc_variable_info_t variable = reals(2);
  const SharedDataset dataset = dataset_of(
      variable, plane(10, 2010, 0, 1200),
      {{plane(10, 1010, 0, 600)}, {plane(10, 1010, 600, 1200)}, {plane(1010, 2010, 0, 600)}, {plane(1010, 2010, 600, 1200)}});
  const Extents chunk = grid_of(dataset, 4, kPlenty);
  CHECK(chunk[1] == 600);
  CHECK(1000 % chunk[0] == 0);
  CHECK(chunk[0] * chunk[1] * 4 <= 1 << 20);
  const std::vector<SharedChunk> chunks = chunks_of(dataset, chunk, 4);
  CHECK(all_simple(chunks));
  CHECK(chunks.size() == 4 * static_cast<std::size_t>(1000 / chunk[0]));
  for (const SharedChunk& one : chunks) CHECK(one.owner == one.shares.front().member);
}

TEST_CASE("tiles of 34, 33 and 33 rows share few values: a chunk is as large as the largest tile") {
  const dc_variable_info_t variable = reals(2);
  const SharedDataset dataset =
      dataset_of(variable, plane(0, 100, 0, 40), {{plane(0, 34, 0, 40)}, {plane(34, 67, 0, 40)}, {plane(67, 100, 0, 40)}});
  const Extents chunk = grid_of(dataset, 3, kPlenty);
  CHECK(chunk[0] == 34);
  CHECK(chunk[1] == 40);
  const std::vector<SharedChunk> chunks = chunks_of(dataset, chunk, 3);
  REQUIRE(chunks.size() == 3);
  CHECK(chunks[0].is_simple());
  CHECK(chunks[1].owner == 1);
  CHECK(chunks[1].shares.size() == 2);
  CHECK(chunks[2].brick == plane(68, 100, 0, 40));
}

TEST_CASE("the chunk of the XML is kept, cut to the memory, and its owner is the server with most of its values") {
  dc_variable_info_t variable = reals(2);
  variable.chunk[0] = 8;
  variable.chunk[1] = 100;
  const SharedDataset dataset = dataset_of(variable, plane(0, 8, 0, 30), {{plane(0, 8, 0, 10)}, {plane(0, 8, 10, 30)}});
  CHECK(grid_of(dataset, 2, kPlenty) == Extents{8, 30});
  CHECK(grid_of(dataset, 2, 4 * 30 * 4 * 5)[0] == 4);
  const std::vector<SharedChunk> chunks = chunks_of(dataset, {8, 30}, 2);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].owner == 1);
}

TEST_CASE("extents without a suitable divisor are cut into about equal parts, quickly") {
  const dc_variable_info_t variable = reals(1);
  Box whole = {1, {}, {}};
  whole.high[0] = 2'147'483'647;  // a prime
  const SharedDataset dataset = dataset_of(variable, whole, {{whole}});
  const Extents chunk = grid_of(dataset, 1, kPlenty);
  CHECK(chunk[0] * 4 <= 1 << 20);
  CHECK(chunk[0] * 4 > 1 << 18);
}

TEST_CASE("whatever the tiles and the grid, each value is in one share of the chunk that holds it") {
  std::mt19937 random(17);
  const dc_variable_info_t variable = reals(2);
  const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)); };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t y = 1 + below(20), x = 1 + below(20), cut_y = below(y + 1), cut_x = below(x + 1);
    // An L of member 0, and a hole or member 2 in its corner.
    const SharedDataset dataset =
        dataset_of(variable, plane(5, 5 + y, 3, 3 + x),
                   {{plane(5, 5 + cut_y, 3, 3 + x), plane(5 + cut_y, 5 + y, 3, 3 + cut_x)},
                    {},
                    round % 2 == 0 ? std::vector<Box>{plane(5 + cut_y, 5 + y, 3 + cut_x, 3 + x)} : std::vector<Box>{}});
    const Extents chunk = round % 3 == 0 ? grid_of(dataset, 3, kPlenty) : Extents{1 + below(y), 1 + below(x)};
    CHECK(chunk[0] <= y);
    CHECK(chunk[1] <= x);
    const std::vector<SharedChunk> chunks = chunks_of(dataset, chunk, 3);
    for (int member = 0; member < 3; ++member) {
      std::int64_t wanted = 0;
      for (const Box& box : boxes_of(dataset, member)) wanted += volume(box);
      CHECK(values_of(chunks, member) == wanted);
    }
    for (const SharedChunk& one : chunks) {
      CHECK((one.brick.low[0] - 5) % chunk[0] == 0);
      CHECK((one.brick.low[1] - 3) % chunk[1] == 0);
      for (const ChunkShare& share : one.shares) {
        CHECK(intersection(share.part, one.brick) == share.part);
        const Box box = boxes_of(dataset, share.member).at(share.box);
        CHECK(intersection(share.part, box) == share.part);
      }
    }
  }
}
