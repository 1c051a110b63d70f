#include <catch2/catch.hpp>

#include <limits>

#include "core/base/box.hpp"

using namespace damaris;

namespace {
Box box(std::int64_t low0, std::int64_t high0, std::int64_t low1, std::int64_t high1) { return {2, {low0, low1}, {high0, high1}}; }
}  // namespace

TEST_CASE("the volume of a box is 1 without dimensions and 0 when one of them is empty") {
  CHECK(volume(Box{}) == 1);
  CHECK(volume(box(2, 5, 1, 3)) == 6);
  CHECK(volume(box(2, 2, 1, 3)) == 0);
}

TEST_CASE("a box of more elements than can be counted has the largest count") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kFar = std::int64_t{1} << 33;
  CHECK(volume(box(0, kFar, 0, kFar)) == kMost);
  CHECK(volume(box(-2, kMost, 0, 1)) == kMost);
  CHECK(volume(box(0, kFar, 7, 7)) == 0);
  CHECK(volume(box(0, kMost, 3, 4)) == kMost);
}

TEST_CASE("boxes that only touch do not overlap") {
  CHECK_FALSE(overlap(box(0, 2, 0, 2), box(2, 4, 0, 2)));
  CHECK_FALSE(overlap(box(0, 2, 0, 2), box(2, 4, 2, 4)));
  CHECK(overlap(box(0, 3, 0, 3), box(2, 4, 2, 4)));
  CHECK(intersection(box(0, 3, 0, 3), box(2, 4, 2, 4)) == box(2, 3, 2, 3));
  CHECK(volume(intersection(box(0, 1, 0, 1), box(5, 6, 5, 6))) == 0);
}

TEST_CASE("subtract leaves what is around the hole, without overlap") {
  const Box whole = box(0, 10, 0, 10), hole = box(3, 5, 4, 12);
  const std::vector<Box> rest = subtract(whole, hole);
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    elements += volume(rest[i]);
    CHECK_FALSE(overlap(rest[i], hole));
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(overlap(rest[i], rest[j]));
  }
  CHECK(elements == 100 - 2 * 6);
  CHECK(subtract(whole, whole).empty());
  CHECK(subtract(whole, box(10, 12, 0, 10)) == std::vector<Box>{whole});
}

TEST_CASE("the bounding box holds all boxes") { CHECK(bounding_box({box(3, 4, 0, 1), box(1, 2, 5, 9)}) == box(1, 4, 0, 9)); }

TEST_CASE("neighbours on a staggered grid share a face, an edge or a corner: no contest") {
  CHECK(contests({box(0, 5, 0, 4), box(4, 9, 0, 4)}).empty());
  CHECK(contests({box(0, 5, 0, 5), box(4, 9, 4, 9)}).empty());
  CHECK(contests({box(0, 1, 0, 5), box(0, 1, 4, 9)}).empty());  // one layer of cells
  CHECK(contests({}).empty());
}

TEST_CASE("boxes that share more than a face are a contest, equal ones of the first of them alone") {
  const auto found = contests({box(0, 5, 0, 4), box(3, 9, 2, 6), box(0, 5, 0, 4), box(0, 5, 0, 4)});
  REQUIRE(found.size() == 3);
  CHECK(found[0].first == 0);
  CHECK(found[0].second == 1);
  CHECK(found[0].common == box(3, 5, 2, 4));
  for (const std::size_t i : {1, 2}) {
    CHECK(found[i].first == 0);
    CHECK(found[i].second == i + 1);
  }
  CHECK(contests({box(2, 3, 2, 3), box(2, 3, 2, 3)}).size() == 1);  // one element each
  CHECK(contests({box(0, 1, 0, 5), box(0, 1, 3, 9)}).size() == 1);  // one layer of cells
}
