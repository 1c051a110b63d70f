#include "codec/rounding.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <damaris/error.hpp>
#include <limits>
#include <random>
#include <vector>

using namespace damaris::codec;

namespace {

template <class T>
T any_value(std::mt19937& random) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       -T{0},
                       Limits::quiet_NaN(),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::denorm_min(),
                       Limits::min(),
                       Limits::max(),
                       -Limits::max()};
  if (random() % 8 == 0) return special[random() % 9];
  if (random() % 8 == 0) return Limits::min() * static_cast<T>(random() % 1000) / 1000;  // denormal
  const T mantissa = static_cast<T>(static_cast<double>(random()) / 4294967296.0 + 0.5) * (random() % 2 == 0 ? 1 : -1);
  const int most = random() % 2 == 0 ? 10 : Limits::max_exponent - 2;
  return std::ldexp(mantissa, static_cast<int>(random() % static_cast<unsigned>(2 * most)) - most);
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEMPLATE_TEST_CASE("no error is above the bound, and the error returned is the largest", "", float, double) {
  std::mt19937 random(61);
  for (int round = 0; round < 2000; ++round) {
    std::vector<TestType> values(1 + random() % 50), out(values.size());
    for (TestType& value : values) value = any_value<TestType>(random);
    const bool relative = random() % 2 == 0;
    ErrorBound bound{relative ? ErrorKind::kRelative : ErrorKind::kAbsolute,
                     std::ldexp(0.5 + (random() % 1000) / 2000.0, -static_cast<int>(random() % 30))};
    if (!relative && random() % 3 == 0) bound.value = std::ldexp(bound.value, static_cast<int>(random() % 400) - 200);
    const double told = round_to(values.data(), values.size(), bound, out.data());
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const TestType value = values[i];
      INFO("value " << value << " -> " << out[i] << " bound " << bound.value << (relative ? " relative" : " absolute"));
      if (!std::isfinite(value) || value == 0) REQUIRE(same_bits(value, out[i]));
      if (!std::isfinite(value) || value == 0) continue;
      REQUIRE(std::isfinite(out[i]));
      if (relative && !std::isnormal(value)) REQUIRE(same_bits(value, out[i]));
      const double error = std::fabs(static_cast<double>(value) - static_cast<double>(out[i]));
      const double counted = relative ? error / std::fabs(static_cast<double>(value)) : error;
      REQUIRE(counted <= bound.value);
      largest = std::max(largest, counted);
    }
    REQUIRE(told <= bound.value);
    REQUIRE(told == Approx(largest).epsilon(1e-12).margin(0));
  }
}

TEMPLATE_TEST_CASE("bounds of any size hold for extreme values, and non-finite numbers stay unchanged", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const std::vector<TestType> values = {Limits::max(),         -Limits::max(), Limits::min(),          Limits::denorm_min(),
                                        -Limits::denorm_min(), TestType(-0.0), Limits::infinity(),     -Limits::infinity(),
                                        Limits::quiet_NaN(),   TestType(1.5),  Limits::signaling_NaN()};
  std::vector<TestType> out(values.size());
  const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  for (const ErrorKind kind : {ErrorKind::kAbsolute, ErrorKind::kRelative})
    for (const double bound : {least, 1e-310, 1e-45, 1e-30, 0.1, 0.999999, 1e30, 1e39, 1e300, most}) {
      if (kind == ErrorKind::kRelative && bound >= 1) continue;
      const double told = round_to(values.data(), values.size(), {kind, bound}, out.data());
      REQUIRE(told <= bound);
      for (std::size_t i = 0; i < values.size(); ++i) {
        INFO(values[i] << " -> " << out[i] << " bound " << bound);
        if (!std::isfinite(values[i]) || values[i] == 0) {
          REQUIRE(same_bits(values[i], out[i]));
          continue;
        }
        REQUIRE(std::isfinite(out[i]));
        const double value = values[i], error = std::fabs(value - static_cast<double>(out[i]));
        REQUIRE((kind == ErrorKind::kRelative ? error / std::fabs(value) : error) <= bound);
      }
    }
}

TEST_CASE("rounding leaves zeros behind: at least the bits that the bound allows") {
  std::vector<float> values(1000), out(1000);
  std::mt19937 random(62);
  for (float& value : values) value = 300 + static_cast<float>(random() % 10000) / 777;
  round_to(values.data(), values.size(), {ErrorKind::kRelative, 1e-3}, out.data());
  for (const float value : out) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    REQUIRE((bits & 0x3fff) == 0);  // 2^-10 <= 1e-3: 9 bits stay of 23
  }
  round_to(values.data(), values.size(), {ErrorKind::kAbsolute, 0.3}, out.data());
  for (const float value : out) REQUIRE(value * 2 == std::floor(value * 2));
}

TEST_CASE("a value may be rounded in its place, and again without change") {
  std::vector<float> values = {1.2345678f, -9.87654f, 1e30f, 1e-30f, 0};
  round_to(values.data(), values.size(), {ErrorKind::kRelative, 1e-2}, values.data());
  const std::vector<float> once = values;
  REQUIRE(round_to(values.data(), values.size(), {ErrorKind::kRelative, 1e-2}, values.data()) == 0);
  REQUIRE(values == once);
}

TEST_CASE("an error that cannot be kept is refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  float value = 1;
  for (const double bad : {0.0, -0.0, -1e-3, nan, inf})
    for (const ErrorKind kind : {ErrorKind::kAbsolute, ErrorKind::kRelative}) {
      try {
        round_to(&value, 1, {kind, bad}, &value);
        FAIL("took an error of " << bad);
      } catch (const damaris::Error& error) {
        REQUIRE(error.code() == DC_E_CONFIG);
      }
      REQUIRE(value == 1);
    }
  REQUIRE_THROWS_AS(check_bound({ErrorKind::kRelative, 1.0}), damaris::Error);
  REQUIRE_NOTHROW(check_bound({ErrorKind::kAbsolute, 1.0}));
}
