#include "logs/coverage.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <set>

namespace damaris::logs {
namespace {

using Place = Coverage::Place;

TEST_CASE("parts that touch are joined, and what lies between others is a hole") {
  Coverage covered;
  CHECK(covered.end() == 0);
  covered.add({10, 5});
  covered.add({20, 5});
  CHECK(covered.end() == 25);
  REQUIRE(covered.holes().size() == 2);
  CHECK(covered.holes()[1].offset == 15);
  CHECK(covered.holes()[1].bytes == 5);
  covered.add({15, 5});
  REQUIRE(covered.holes().size() == 1);
  CHECK(covered.holes()[0].bytes == 10);
}

TEST_CASE("an extent is free, stored, or overlaps, byte by byte as a set of bytes says") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Coverage covered;
    std::set<std::uint64_t> bytes;
    for (int i = 0; i < 20; ++i) {
      const Extent extent = {random() % 60, 1 + random() % 8};
      std::uint64_t stored = 0;
      for (std::uint64_t b = 0; b < extent.bytes; ++b) stored += bytes.count(extent.offset + b);
      const Place expected = stored == 0 ? Place::free : stored == extent.bytes ? Place::stored : Place::overlaps;
      REQUIRE(covered.look_up(extent) == expected);
      covered.add(extent);
      for (std::uint64_t b = 0; b < extent.bytes; ++b) bytes.insert(extent.offset + b);
    }
    std::uint64_t missing = 0;
    for (const Extent& hole : covered.holes()) missing += hole.bytes;
    REQUIRE(missing + bytes.size() == covered.end());
  }
}

}  // namespace
}  // namespace damaris::logs
