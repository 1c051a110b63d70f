// Rule 11: the lower source wins, a union that is no box becomes several boxes.
#include <catch2/catch.hpp>

#include "plugins/hdf5/layout/pieces.hpp"

using namespace damaris;
using namespace damaris::hdf5;

namespace {

Box box(std::int64_t low0, std::int64_t high0, std::int64_t low1, std::int64_t high1) { return {2, {low0, low1}, {high0, high1}}; }

std::vector<Box> boxes_of(const std::vector<JoinedBox>& joined) {
  std::vector<Box> boxes;
  for (const JoinedBox& one : joined) boxes.push_back(one.box);
  return boxes;
}

}  // namespace

TEST_CASE("rule 11: tiles of a box in any order become that box, with the tiles in their order") {
  const std::vector<Box> tiles = {box(4, 7, 0, 5), box(0, 4, 5, 6), box(4, 7, 5, 6), box(0, 4, 0, 5)};
  const std::vector<JoinedBox> joined = join(tiles);
  REQUIRE(boxes_of(joined) == std::vector<Box>{box(0, 7, 0, 6)});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(joined[0].tiles[i].block == i);
    CHECK(joined[0].tiles[i].box == tiles[i]);
  }
}

TEST_CASE("rule 11: a pinwheel, of which no two tiles share a whole face, is still one box") {
  const std::vector<Box> pinwheel = {box(0, 1, 0, 2), box(0, 2, 2, 3), box(2, 3, 1, 3), box(1, 3, 0, 1), box(1, 2, 1, 2)};
  CHECK(boxes_of(join(pinwheel)) == std::vector<Box>{box(0, 3, 0, 3)});
}

TEST_CASE("rule 11: an L of three tiles becomes two boxes, tiles with a gap two") {
  CHECK(boxes_of(join({box(0, 2, 0, 2), box(0, 2, 2, 4), box(2, 4, 0, 2)})) == std::vector<Box>{box(0, 2, 0, 4), box(2, 4, 0, 2)});
  CHECK(boxes_of(join({box(0, 2, 0, 2), box(0, 2, 3, 5)})) == std::vector<Box>{box(0, 2, 0, 2), box(0, 2, 3, 5)});
}

TEST_CASE("rule 11: a staggered face that two tiles share comes from the lower one") {
  // Two tiles of 4 cells have 5 faces each and share one.
  const std::vector<JoinedBox> joined = join({box(0, 3, 4, 9), box(0, 3, 0, 5)});
  REQUIRE(boxes_of(joined) == std::vector<Box>{box(0, 3, 0, 9)});
  REQUIRE(joined[0].tiles.size() == 2);
  CHECK(joined[0].tiles[0].box == box(0, 3, 4, 9));
  CHECK(joined[0].tiles[1].box == box(0, 3, 0, 4));
}

TEST_CASE("rule 11: a block that others cover completely adds nothing, nor does an empty one") {
  const std::vector<JoinedBox> joined = join({box(0, 2, 0, 4), box(2, 4, 0, 4), box(1, 3, 1, 3), box(9, 9, 0, 4)});
  REQUIRE(boxes_of(joined) == std::vector<Box>{box(0, 4, 0, 4)});
  CHECK(joined[0].tiles.size() == 2);
  CHECK(join({box(1, 1, 0, 4)}).empty());
  CHECK(join({}).empty());
}
