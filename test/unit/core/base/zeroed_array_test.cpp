#include "core/base/zeroed_array.hpp"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <vector>

using damaris::ZeroedArray;

TEST_CASE("a zeroed array is zero, and keeps what is written") {
  ZeroedArray<int> array(100'000);
  CHECK(array.end() - array.begin() == 100'000);
  CHECK(std::all_of(array.begin(), static_cast<int*>(array.begin()) + 100'000, [](int value) { return value == 0; }));
  array[99'999] = 7;
  const ZeroedArray<int> other(std::move(array));
  CHECK(other[99'999] == 7);
  CHECK(array.begin() == nullptr);
}

TEST_CASE("a zeroed array takes the pages that are used only") {
  constexpr std::size_t kPage = 4096, kPages = 1000;
  struct alignas(64) Line {
    char bytes[64];
  };
  ZeroedArray<Line> array(kPages * kPage / sizeof(Line));
  array[5 * kPage / sizeof(Line)].bytes[0] = 1;
  std::vector<unsigned char> resident(kPages);
  REQUIRE(::mincore(array.begin(), kPages * kPage, resident.data()) == 0);
  CHECK(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; }) == 1);
  CHECK((resident[5] & 1) == 1);
}

TEST_CASE("an empty zeroed array has no elements") {
  const ZeroedArray<int> array(0);
  CHECK(array.begin() == array.end());
}
