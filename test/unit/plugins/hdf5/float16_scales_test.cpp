// When a variable of 16 bits keeps its scale and offset.
#include "plugins/hdf5/write/precision.hpp"

#include <catch2/catch.hpp>

#include <limits>

using damaris::codec::Range;
using damaris::codec::Scaling;
using damaris::hdf5::Float16Scales;

namespace {

Range<double> range(double min, double max) { return {min, max, true}; }

bool same(const Scaling& a, const Scaling& b) { return a.scale == b.scale && a.offset == b.offset; }

}  // namespace

TEST_CASE("a scale is kept while nothing overflows and the error is at most twice that of a new one") {
  Float16Scales scales;
  const Scaling first = scales.choose(7, range(280, 320));
  CHECK(first.offset == 300);
  CHECK(same(scales.choose(7, range(262, 338)), first));  // all of twice the range
  CHECK(same(scales.choose(7, range(286, 314)), first));
  CHECK(same(scales.choose(7, range(290, 340)), first));
  CHECK_FALSE(same(scales.choose(8, range(281, 320)), first));  // another variable
  CHECK(same(scales.choose(7, range(299, 301)), first));        // halves are fine around the middle
  const Scaling fine = scales.choose(7, range(304, 306));       // and would lose three bits here
  CHECK(fine.offset == 305);
  CHECK(fine.scale == 1);
  CHECK(same(scales.choose(7, range(304, 306.5)), fine));
}

TEST_CASE("values that would overflow get a new scale") {
  Float16Scales scales;
  CHECK(scales.choose(0, range(-1, 1)).scale == 1);
  CHECK(scales.choose(0, range(-1, 65000)).scale == 1);
  CHECK(scales.choose(0, range(-1, 65536)).scale == 65536);
  CHECK(scales.choose(0, range(-1, 65536)).scale == 65536);
}

TEST_CASE("values that fit no scale do not affect later choices") {
  Float16Scales scales;
  const double most = std::numeric_limits<double>::max();
  CHECK(scales.choose(0, range(-most, most)).scale == 0x1p1008);
  CHECK(scales.choose(0, range(-1, 1)).scale == 1);
  CHECK(scales.choose(0, range(0, 0x1p1023)).scale == 0x1p1008);
  CHECK(scales.choose(0, range(-1, 1)).scale == 1);
}

TEST_CASE("zeros and values that are not finite do not affect later choices") {
  Float16Scales scales;
  CHECK(scales.choose(0, range(0, 0)).scale == 1);
  CHECK(scales.choose(0, {}).scale == 1);
  const Scaling first = scales.choose(0, range(0, 1e-9));
  CHECK(first.scale < 1e-8);
  CHECK(same(scales.choose(0, range(0, 0)), first));
  CHECK(same(scales.choose(0, {}), first));
}
