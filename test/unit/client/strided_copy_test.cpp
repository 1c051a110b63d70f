// Copies of sections against a copy element by element.
#include "client/source.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {

using damaris::client::copy_strided;

// A random section of a random array: any order of the dimensions, any steps, both directions.
struct Section {
  std::vector<std::int64_t> extents;
  std::vector<std::ptrdiff_t> strides;
  std::ptrdiff_t begin = 0;   // of the first element, in bytes
  std::ptrdiff_t length = 1;  // of the array, in elements
};

Section random_section(std::mt19937& random, std::ptrdiff_t element_bytes) {
  const auto number = [&](int lowest, int highest) { return std::uniform_int_distribution<int>(lowest, highest)(random); };
  Section section;
  std::vector<int> order(static_cast<std::size_t>(number(1, 4)));
  std::iota(order.begin(), order.end(), 0);
  if (number(0, 1) == 1) std::shuffle(order.begin(), order.end(), random);
  section.extents.resize(order.size());
  section.strides.resize(order.size());
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {  // from the fastest to the slowest
    const auto d = static_cast<std::size_t>(*dimension);
    const int step = number(0, 3) == 0 ? 2 : 1;
    const int margin = number(0, 2) == 0 ? 1 : 0;
    section.extents[d] = number(1, 5);
    section.strides[d] = section.length * step * element_bytes;
    section.begin += section.length * margin * element_bytes;
    if (number(0, 4) == 0) {
      section.begin += (section.extents[d] - 1) * section.strides[d];
      section.strides[d] = -section.strides[d];
    }
    section.length *= section.extents[d] * step + 2 * margin;
  }
  return section;
}

std::vector<std::byte> one_by_one(const std::byte* first, const Section& section, std::size_t element_bytes) {
  std::vector<std::byte> copy;
  std::vector<std::int64_t> index(section.extents.size(), 0);
  while (true) {
    const std::byte* element = first;
    for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * section.strides[d];
    copy.insert(copy.end(), element, element + element_bytes);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == section.extents[d - 1]) index[--d] = 0;
    if (d == 0) return copy;
  }
}

}  // namespace

TEST_CASE("a thousand random sections are copied as element by element") {
  std::mt19937 random(20260101);
  for (int round = 0; round < 1000; ++round) {
    const std::size_t element_bytes = std::vector<std::size_t>{1, 2, 4, 8, 24}[static_cast<std::size_t>(round % 5)];
    const Section section = random_section(random, static_cast<std::ptrdiff_t>(element_bytes));
    std::vector<std::byte> array(static_cast<std::size_t>(section.length) * element_bytes);
    for (std::byte& byte : array) byte = static_cast<std::byte>(random());
    const std::byte* first = array.data() + section.begin;
    const std::vector<std::byte> expected = one_by_one(first, section, element_bytes);
    std::vector<std::byte> got(expected.size() + 1, std::byte{0x5a});
    copy_strided(got.data(), first, static_cast<int>(section.extents.size()), section.extents.data(), section.strides.data(),
                 element_bytes);
    INFO("round " << round);
    REQUIRE(got.back() == std::byte{0x5a});
    got.pop_back();
    REQUIRE(got == expected);
  }
}

TEST_CASE("an empty section copies nothing and reads nothing") {
  const std::int64_t extents[2] = {3, 0};
  const std::ptrdiff_t strides[2] = {8, 4};
  std::byte target{0x5a};
  copy_strided(&target, nullptr, 2, extents, strides, 4);
  CHECK(target == std::byte{0x5a});
}
