#include <catch2/catch.hpp>

#include <numeric>

#include "plugins/hdf5/layout/pieces.hpp"

using namespace damaris;
using namespace damaris::hdf5;

namespace {

// Every element's value tells its coordinates in the common frame.
int value_at(std::int64_t i, std::int64_t j, std::int64_t k) { return static_cast<int>(i * 10000 + j * 100 + k); }

std::vector<int> numbered(const Box& box) {
  std::vector<int> values;
  for (auto i = box.low[0]; i < box.high[0]; ++i)
    for (auto j = box.low[1]; j < box.high[1]; ++j)
      for (auto k = box.low[2]; k < box.high[2]; ++k) values.push_back(value_at(i, j, k));
  return values;
}

std::vector<int> copied(const Box& to, const Box& from, const Box& region) {
  const std::vector<int> source = numbered(from);
  std::vector<int> target(static_cast<std::size_t>(volume(to)), -1);
  copy_region({reinterpret_cast<std::byte*>(target.data()), to}, {reinterpret_cast<const std::byte*>(source.data()), from}, region,
              sizeof(int));
  return target;
}

}  // namespace

TEST_CASE("copy_region puts each element of the region at its position and touches no other") {
  const Box to = {3, {1, 2, 3}, {5, 6, 7}}, from = {3, {0, 0, 0}, {4, 8, 9}};
  for (const Box& region : {intersection(to, from), Box{3, {2, 3, 4}, {3, 5, 6}}, Box{3, {1, 2, 3}, {4, 6, 7}}}) {
    const std::vector<int> target = copied(to, from, region), numbers = numbered(to);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::int64_t at[] = {1 + static_cast<std::int64_t>(i / 16), 2 + static_cast<std::int64_t>(i / 4 % 4),
                                 3 + static_cast<std::int64_t>(i % 4)};
      bool inside = true;
      for (int d = 0; d < 3; ++d) inside = inside && at[d] >= region.low[d] && at[d] < region.high[d];
      REQUIRE(target[i] == (inside ? numbers[i] : -1));
    }
  }
}

TEST_CASE("copy_region of the same box, of an empty region and of a scalar") {
  const Box same = {3, {1, 1, 1}, {3, 4, 5}};
  CHECK(copied(same, same, same) == numbered(same));
  CHECK(copied(same, same, {3, {1, 1, 1}, {3, 1, 5}}) == std::vector<int>(24, -1));
  const int from = 7;
  int to = 0;
  copy_region({reinterpret_cast<std::byte*>(&to), {}}, {reinterpret_cast<const std::byte*>(&from), {}}, {}, sizeof(int));
  CHECK(to == 7);
}

TEST_CASE("a region is one run when only its first dimension thicker than 1 is cut") {
  const Box array = {3, {0, 0, 0}, {4, 5, 6}};
  std::size_t offset = 0;
  CHECK(is_contiguous(array, array, 4, offset));
  CHECK(offset == 0);
  CHECK(is_contiguous(array, {3, {1, 0, 0}, {3, 5, 6}}, 4, offset));
  CHECK(offset == 120);
  CHECK(is_contiguous(array, {3, {1, 2, 0}, {2, 4, 6}}, 4, offset));
  CHECK(offset == (30 + 12) * 4);
  CHECK(is_contiguous(array, {3, {1, 2, 3}, {2, 3, 5}}, 4, offset));
  CHECK(offset == (30 + 12 + 3) * 4);
  CHECK_FALSE(is_contiguous(array, {3, {0, 0, 0}, {2, 4, 6}}, 4, offset));
  CHECK_FALSE(is_contiguous(array, {3, {0, 0, 0}, {1, 2, 5}}, 4, offset));
}
