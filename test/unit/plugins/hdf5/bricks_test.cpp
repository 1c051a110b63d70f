#include <catch2/catch.hpp>

#include "plugins/hdf5/layout/memory.hpp"

using namespace damaris;
using namespace damaris::hdf5;

namespace {
Box box(std::vector<std::int64_t> extents) {
  Box made;
  made.ndims = static_cast<int>(extents.size());
  for (int d = 0; d < made.ndims; ++d) {
    made.low[d] = 100 * d;
    made.high[d] = made.low[d] + extents[d];
  }
  return made;
}
}  // namespace

TEST_CASE("a box smaller than the limit is one brick") {
  const Extents extents = brick_extents(box({3, 4, 5}), 4, 1000);
  CHECK((extents[0] == 3 && extents[1] == 4 && extents[2] == 5));
}

TEST_CASE("a larger box is cut in its slow dimensions, evenly") {
  // 11 planes of 80 bytes, at most 4 a brick: 3 bricks of 4, 4 and 3.
  const Extents planes = brick_extents(box({11, 4, 5}), 4, 330);
  CHECK((planes[0] == 4 && planes[1] == 4 && planes[2] == 5));
  const Extents rows = brick_extents(box({11, 4, 5}), 4, 79);
  CHECK((rows[0] == 1 && rows[1] == 2 && rows[2] == 5));
  const Extents parts = brick_extents(box({11, 4, 5}), 4, 12);
  CHECK((parts[0] == 1 && parts[1] == 1 && parts[2] == 3));
  const Extents huge_elements = brick_extents(box({11, 4, 5}), 4000, 12);
  CHECK((huge_elements[0] == 1 && huge_elements[1] == 1 && huge_elements[2] == 1));
}

TEST_CASE("no extent of a brick is 0, even for an empty box") {
  const Extents extents = brick_extents(box({0, 4, 0}), 4, 1000);
  CHECK((extents[0] == 1 && extents[1] == 4 && extents[2] == 1));
}

TEST_CASE("the bricks of a box come in the order of the file and cover it once") {
  const Box whole = box({3, 5, 2});
  std::vector<Box> bricks;
  for_each_brick(whole, {1, 2, 2}, [&](const Box& brick) { bricks.push_back(brick); });
  REQUIRE(bricks.size() == 9);
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < bricks.size(); ++i) {
    elements += volume(bricks[i]);
    CHECK(intersection(bricks[i], whole) == bricks[i]);
    if (i > 0) CHECK(bricks[i - 1].low < bricks[i].low);
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(overlap(bricks[i], bricks[j]));
  }
  CHECK(elements == volume(whole));
  for_each_brick(box({0, 5}), {1, 5}, [](const Box&) { FAIL("an empty box has no brick"); });
  int calls = 0;
  for_each_brick(Box{}, {}, [&](const Box&) { ++calls; });
  CHECK(calls == 1);
}

TEST_CASE("a chunk is cut in its slowest dimensions until it can be compressed within the memory, to one element at least") {
  const Extents cut = cut_to({100, 10, 10}, 3, 8, 8 * 100 * 25 * kCopiesOfChunk);
  CHECK((cut[0] == 25 && cut[1] == 10 && cut[2] == 10));
  const Extents rows = cut_to({2, 10, 10}, 3, 8, 8 * 30 * kCopiesOfChunk);
  CHECK((rows[0] == 1 && rows[1] == 3 && rows[2] == 10));
  const Extents one = cut_to({2, 3}, 2, 1000, 1);
  CHECK((one[0] == 1 && one[1] == 1));
}

TEST_CASE("as many chunks are compressed at the same time as the memory holds, but at least one") {
  CHECK(lanes_within(100 * kCopiesOfChunk, 30, 8) == 3);
  CHECK(lanes_within(100 * kCopiesOfChunk, 1, 8) == 8);
  CHECK(lanes_within(100 * kCopiesOfChunk, 1000, 8) == 1);
}
