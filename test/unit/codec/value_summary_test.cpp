#include "codec/range.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "codec/checksum.hpp"

using namespace damaris::codec;

namespace {

// Integers of all sizes; reals with denormals, and with NaN and Inf where asked.
template <class T>
T random_value(std::mt19937_64& random, bool wild) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random() >> random() % 64);
  } else {
    constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
    if (wild && random() % 7 == 0) return random() % 2 == 0 ? kNan : (random() % 2 == 0 ? kInf : -kInf);
    return std::ldexp(static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000), static_cast<int>(random() % 200) - 160);
  }
}

template <class T>
Range<T> slow_range(const T* values, std::size_t count) {
  Range<T> range;
  for (std::size_t i = 0; i < count; ++i)
    if (std::isfinite(static_cast<double>(values[i]))) range = merged(range, {values[i], values[i], true});
  return range;
}

template <class T>
void require_same(const ValueSummary<T>& summary, const std::vector<T>& values, std::size_t count) {
  const Range<T> range = slow_range(values.data(), count);
  REQUIRE(summary.checksum == crc32(values.data(), count * sizeof(T)));
  REQUIRE(summary.range.finite == range.finite);
  if (!range.finite) return;
  REQUIRE(summary.range.min == range.min);
  REQUIRE(summary.range.max == range.max);
}

}  // namespace

TEMPLATE_TEST_CASE("a summary has the checksum and the finite ends of values of any number", "", float, double, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  std::mt19937_64 random(74);
  for (const bool wild : {false, true})
    for (int round = 0; round < 60; ++round) {
      std::vector<TestType> values(round % 4 == 0 ? random() % 50 : random() % 30000);
      for (TestType& value : values) value = random_value<TestType>(random, wild);
      require_same(summarize(values.data(), values.size()), values, values.size());
    }
}

TEMPLATE_TEST_CASE("one extreme value is found at any position", "", float, double, std::int16_t, std::uint64_t) {
  std::vector<TestType> values(4096 / sizeof(TestType) * 3 + 5, TestType{7});
  for (std::size_t place = 0; place < values.size(); ++place) {
    values[place] = place % 2 == 0 ? TestType{3} : TestType{9};
    const Range<TestType> range = summarize(values.data(), values.size()).range;
    if (range.min != std::min(values[place], TestType{7}) || range.max != std::max(values[place], TestType{7}))
      FAIL("place " << place);
    values[place] = TestType{7};
  }
}

TEST_CASE("values that are all infinite or no numbers have no range") {
  for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> values(2000, value);
    REQUIRE_FALSE(summarize(values.data(), values.size()).range.finite);
  }
}
