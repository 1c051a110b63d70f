// How large a chunk may be, and how many are compressed at a time.
#include "plugins/hdf5/layout/memory.hpp"

#include <catch2/catch.hpp>

using damaris::Extents;
using damaris::hdf5::cut_to;
using damaris::hdf5::kCopiesOfChunk;
using damaris::hdf5::lanes_within;

TEST_CASE("a chunk that is too large is halved in its slowest dimensions, whatever follows its last one") {
  const Extents extents = {8, 4, 7, 9};
  CHECK(cut_to(extents, 2, 8, 8 * 4 * 8 * kCopiesOfChunk) == extents);
  CHECK(cut_to(extents, 2, 8, 8 * 4 * 8 * kCopiesOfChunk - 1) == Extents{4, 4, 7, 9});
  CHECK(cut_to(extents, 2, 8, 2 * 8 * kCopiesOfChunk) == Extents{1, 2, 7, 9});
  CHECK(cut_to(extents, 2, 8, 1) == Extents{1, 1, 7, 9});
  CHECK(cut_to({8, 4, 0}, 2, 8, 2 * 8 * kCopiesOfChunk) == Extents{1, 2, 0});
}

TEST_CASE("as many chunks are compressed at a time as the memory holds, at least one") {
  CHECK(lanes_within(1000 * kCopiesOfChunk, 100, 20) == 10);
  CHECK(lanes_within(1000 * kCopiesOfChunk, 100, 4) == 4);
  CHECK(lanes_within(10, 100, 4) == 1);
  CHECK(lanes_within(10, 0, 4) == 4);
}
