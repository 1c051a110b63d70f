#include "codec/rounding.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <damaris/error.hpp>
#include <limits>
#include <random>
#include <vector>

using namespace damaris::codec;

TEST_CASE("every half becomes a float and the same half again") {
  for (unsigned half = 0; half < 65536; ++half) {
    const float value = from_half(static_cast<Half>(half));
    if (std::isnan(value))
      REQUIRE((half & 0x7c00) == 0x7c00);
    else
      REQUIRE(to_half(value) == half);
  }
  REQUIRE(from_half(0x3c00) == 1);
  REQUIRE(from_half(0x7bff) == 65504);
  REQUIRE(from_half(0x0001) == std::ldexp(1.0f, -24));
  REQUIRE(from_half(0xfc00) == -std::numeric_limits<float>::infinity());
}

TEST_CASE("a value between two halves becomes the nearest one, or the even one if both are equally near") {
  for (unsigned half = 0; half < 0x7bff; ++half) {
    const float low = from_half(static_cast<Half>(half)), high = from_half(static_cast<Half>(half + 1)), middle = (low + high) / 2;
    REQUIRE(to_half(middle) == (half % 2 == 0 ? half : half + 1));
    REQUIRE(to_half(std::nextafter(middle, 0.0f)) == half);
    REQUIRE(to_half(std::nextafter(middle, 1e6f)) == half + 1);
  }
  REQUIRE(to_half(65519.99f) == 0x7bff);
  REQUIRE(to_half(65520.0f) == 0x7c00);
}

TEMPLATE_TEST_CASE("quantize returns the largest error, and nothing overflows with a scaling made for the range", "", float,
                   double) {
  std::mt19937 random(71);
  for (int round = 0; round < 500; ++round) {
    const double offset = random() % 2 == 0 ? 0 : 300 * static_cast<double>(random() % 1000),
                 scale = std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
    std::vector<TestType> values(random() % 2100);
    for (TestType& value : values)
      value = static_cast<TestType>(offset + scale * (static_cast<double>(random()) / 2147483648.0 - 1));
    const auto range = range_of(values.data(), values.size());
    const Scaling scaling = scaling_for(range);
    std::vector<Half> halves(values.size());
    const Quantized quantized = quantize(values.data(), values.size(), scaling, halves.data());
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::fabs(values[i] - (from_half(halves[i]) * scaling.scale + scaling.offset)));
    REQUIRE(quantized.overflowed == 0);
    REQUIRE(quantized.largest_error == Approx(largest).epsilon(1e-9).margin(1e-12 * scale));
    if (range.finite)
      REQUIRE(quantized.largest_error <= rounding_error(range, scaling) * 1.001 + 4e-16 * std::fabs(scaling.offset));
    const double spread = range.finite ? std::max(range.max - scaling.offset, scaling.offset - range.min) : 0;
    REQUIRE(rounding_error(range, scaling) <= spread / 2048);
  }
}

TEST_CASE("values that do not fit are counted, NaN and Inf stay and are not") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {1, 70000, -1e30f, inf, -inf, nan, 65504, 0, -0.0f};
  std::vector<Half> halves(values.size());
  const Quantized quantized = quantize(values.data(), values.size(), {1, 0}, halves.data());
  REQUIRE(quantized.overflowed == 2);
  REQUIRE(quantized.largest_error == 0);
  REQUIRE(halves[3] == 0x7c00);
  REQUIRE(halves[4] == 0xfc00);
  REQUIRE(std::isnan(from_half(halves[5])));
  REQUIRE(halves[7] == 0);
  REQUIRE(halves[8] == 0x8000);
}

TEST_CASE("a finite value whose half represents more than the type's largest number is an overflow") {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> values = {most, -most, 0.9F * most, 1, 0, most, -1, 2,   3,
                                     4,    5,     6,           7, 8, 9,    10, most};  // a group and one more
  std::vector<Half> halves(values.size());
  CHECK(quantize(values.data(), values.size(), {0x1p128, 0}, halves.data()).overflowed == 4);
  const std::vector<double> wide(values.begin(), values.end());
  CHECK(quantize(wide.data(), wide.size(), {0x1p128, 0}, halves.data()).overflowed == 0);
}

TEST_CASE("zeros stay zeros where the range holds zero; values far from zero get an offset") {
  REQUIRE(scaling_for(Range<float>{0, 5, true}).offset == 0);
  REQUIRE(scaling_for(Range<float>{-3, 5, true}).offset == 0);
  REQUIRE(scaling_for(Range<float>{280, 320, true}).offset == 300);
  REQUIRE(scaling_for(Range<float>{280, 320, true}).scale == 20);
  const Scaling constant = scaling_for(Range<double>{7, 7, true});
  REQUIRE(constant.offset == 7);
  REQUIRE(constant.scale != 0);
  REQUIRE(scaling_for(Range<double>{}).scale == 1);
}

TEST_CASE("ranges of similar magnitude around zero get one scale, with which small values lose no more than with another") {
  for (const double farthest : {0.5, 1.0, 3.0, 1000.0, 32767.0}) REQUIRE(scaling_for(Range<double>{-farthest, 0, true}).scale == 1);
  REQUIRE(scaling_for(Range<double>{0, 0, true}).scale == 1);
  REQUIRE(scaling_for(Range<double>{0, 1e-320, true}).scale == std::numeric_limits<double>::min());  // the least with an inverse
  for (int exponent = -1022; exponent < 1024; ++exponent) {
    const double farthest = std::ldexp(1.0, exponent), scale = scaling_for(Range<double>{0, farthest, true}).scale;
    REQUIRE(scale <= 2 * farthest);  // so that the smallest half is at most 2^-23 of the farthest value
    REQUIRE(rounding_error(Range<double>{0, farthest, true}, {scale, 0}) <= farthest / 4096);
  }
}

TEST_CASE("the error of rounding is known before") {
  const auto error = [](double min, double max, const Scaling& scaling) {
    return rounding_error(Range<double>{min, max, true}, scaling);
  };
  REQUIRE(error(280, 320, {20, 300}) == 20.0 / 4096);
  REQUIRE(error(279, 320, {20, 300}) == 20.0 / 2048);  // beyond 1 halves are twice as far apart
  REQUIRE(error(0, 1e-6, {1, 0}) == std::ldexp(1.0, -25));
  REQUIRE(error(0, 65504, {1, 0}) == 16);
  REQUIRE(error(7, 7, {1, 7}) == 0);
  REQUIRE(std::isinf(error(-65520, 0, {1, 0})));
  REQUIRE(rounding_error(Range<double>{}, {1, 0}) == 0);
}

TEST_CASE("a scaling that cannot be undone is refused, and has no bound of its error") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const float value = 1;
  Half half = 0;
  for (const Scaling& bad :
       {Scaling{0, 0}, Scaling{nan, 0}, Scaling{inf, 0}, Scaling{5e-324, 0}, Scaling{1, nan}, Scaling{1, inf}}) {
    REQUIRE_THROWS_AS(quantize(&value, 1, bad, &half), damaris::Error);
    REQUIRE(std::isinf(rounding_error(Range<double>{0, 1, true}, bad)));
  }
}

TEMPLATE_TEST_CASE("whatever the range, its scaling can be undone, and what it holds is within the error that is known before", "",
                   float, double) {
  using Limits = std::numeric_limits<TestType>;
  const std::vector<TestType> extremes = {Limits::max(),
                                          -Limits::max(),
                                          Limits::max() / 2,
                                          std::ldexp(TestType{1}, Limits::max_exponent - 1),
                                          Limits::min(),
                                          -Limits::min(),
                                          std::nextafter(Limits::min(), TestType{0}),
                                          Limits::denorm_min(),
                                          -Limits::denorm_min(),
                                          4 * Limits::denorm_min(),
                                          TestType(0.0),
                                          TestType(-0.0),
                                          TestType(1),
                                          std::nextafter(TestType{1}, TestType{2}),
                                          TestType(-1)};
  for (const TestType a : extremes)
    for (const TestType b : extremes) {
      const std::vector<TestType> values = {a, Limits::quiet_NaN(), b, Limits::infinity(), -Limits::infinity()};
      const auto range = range_of(values.data(), values.size());
      const Scaling scaling = scaling_for(range);
      INFO(a << " and " << b << ": scale " << scaling.scale << ", offset " << scaling.offset);
      REQUIRE(is_invertible(scaling));
      std::vector<Half> halves(values.size());
      const Quantized quantized = quantize(values.data(), values.size(), scaling, halves.data());
      const double most = std::max(std::fabs(static_cast<double>(a)), std::fabs(static_cast<double>(b)));
      const bool is_small = std::is_same_v<TestType, float> ? most < 0x1p128 * (1 - 0x1p-11) : most < 65520 * 0x1p1008;
      if (is_small) REQUIRE(quantized.overflowed == 0);
      if (quantized.overflowed == 0)
        REQUIRE(quantized.largest_error <= rounding_error(range, scaling) * 1.001 + 4e-16 * std::fabs(scaling.offset));
      REQUIRE(std::isnan(from_half(halves[1])));
      REQUIRE((std::isinf(from_half(halves[3])) && std::isinf(from_half(halves[4]))));
    }
}
