#include "codec/range.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace damaris::codec;

TEMPLATE_TEST_CASE("the range is that of the finite values", "", float, double) {
  std::mt19937 random(51);
  const TestType inf = std::numeric_limits<TestType>::infinity(), nan = std::numeric_limits<TestType>::quiet_NaN();
  for (int round = 0; round < 400; ++round) {
    std::vector<TestType> values(1 + random() % 200);
    TestType low = inf, high = -inf;
    bool finite = false;
    for (TestType& value : values) {
      value = std::ldexp(static_cast<TestType>(static_cast<int>(random() % 2001) - 1000), static_cast<int>(random() % 40) - 20);
      if (random() % 10 == 0) value = random() % 2 == 0 ? nan : (random() % 2 == 0 ? inf : -inf);
      if (!std::isfinite(value)) continue;
      low = std::min(low, value), high = std::max(high, value), finite = true;
    }
    const auto range = range_of(values.data(), values.size());
    REQUIRE(range.finite == finite);
    if (!finite) continue;
    REQUIRE(range.min == low);
    REQUIRE(range.max == high);
  }
}

TEST_CASE("a block without finite values has no range") {
  const float values[3] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()};
  REQUIRE_FALSE(range_of(values, 3).finite);
  REQUIRE_FALSE(range_of(values, 0).finite);
}

TEST_CASE("the largest finite values belong to the range") {
  const double most = std::numeric_limits<double>::max(), values[2] = {-most, most};
  REQUIRE(range_of(values, 2).min == -most);
  REQUIRE(range_of(values, 2).max == most);
}

TEMPLATE_TEST_CASE("the extremes of an integer type belong to the range, whatever their number and place", "", std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  using Limits = std::numeric_limits<TestType>;
  for (const std::size_t count : {1, 2, 15, 16, 17, 128, 129, 1000})
    for (const TestType one : {Limits::min(), Limits::max(), TestType{0}}) {
      std::vector<TestType> values(count, one);
      REQUIRE((range_of(values.data(), count).min == one && range_of(values.data(), count).max == one));
      values.front() = Limits::max();
      values.back() = Limits::min();
      const auto range = range_of(values.data(), count);
      REQUIRE(range.finite);
      REQUIRE(range.min == Limits::min());
      REQUIRE(range.max == (count == 1 ? Limits::min() : Limits::max()));
    }
}

TEMPLATE_TEST_CASE("denormals and zeros of both signs are finite values like others", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const std::vector<TestType> values = {Limits::denorm_min(), -Limits::denorm_min(), TestType(-0.0), Limits::signaling_NaN()};
  const auto range = range_of(values.data(), values.size());
  REQUIRE((range.finite && range.min == -Limits::denorm_min() && range.max == Limits::denorm_min()));
  REQUIRE((range_of(values.data() + 2, 1).finite && range_of(values.data() + 2, 1).min == 0));
  REQUIRE_FALSE(range_of(values.data() + 3, 1).finite);
}
