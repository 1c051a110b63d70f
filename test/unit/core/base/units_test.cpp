#include "core/base/text.hpp"

#include <catch2/catch.hpp>

using damaris::parse_duration_ms;
using damaris::parse_size;
using damaris::size_text;

TEST_CASE("sizes are read with binary and decimal units") {
  REQUIRE(parse_size("4096") == 4096u);
  REQUIRE(parse_size("64KiB") == 65536u);
  REQUIRE(parse_size("1.5GiB") == 1610612736u);
  REQUIRE(parse_size("10MB") == 10000000u);
  REQUIRE(parse_size("64 mib") == 64u << 20);
  REQUIRE(parse_size("0") == 0u);
  REQUIRE(parse_size("8388607TiB") == 8388607ull << 40);
}

TEST_CASE("an invalid size gives nothing") {
  for (const char* text : {"", " 1", "-1", "+1", "1.", ".5MiB", "1e3", "0x10", "MiB", "64 M", "64MiB ", "1,5GiB", "nan",
                           "8388608TiB", "99999999999999999999"})
    CHECK_FALSE(parse_size(text));
}

TEST_CASE("durations are read in milliseconds, a bare number is seconds") {
  REQUIRE(parse_duration_ms("250ms") == 250);
  REQUIRE(parse_duration_ms("10s") == 10000);
  REQUIRE(parse_duration_ms("0.5s") == 500);
  REQUIRE(parse_duration_ms("2min") == 120000);
  REQUIRE(parse_duration_ms("1h") == 3600000);
  REQUIRE(parse_duration_ms("3") == 3000);
  REQUIRE_FALSE(parse_duration_ms("3 days"));
  REQUIRE_FALSE(parse_duration_ms("-3s"));
  REQUIRE_FALSE(parse_duration_ms("9223372036854775807h"));
}

TEST_CASE("sizes are written in the largest unit that leaves a number above one") {
  REQUIRE(size_text(17) == "17 B");
  REQUIRE(size_text(1024) == "1 KiB");
  REQUIRE(size_text(2621440) == "2.5 MiB");
  REQUIRE(size_text(1048575) == "1 MiB");
  REQUIRE(size_text(~0ull) == "16 EiB");
}
