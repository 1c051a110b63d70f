#include "core/base/text.hpp"

#include <catch2/catch.hpp>

using damaris::name_hint;
using damaris::nearest_name;

TEST_CASE("the nearest name tolerates a typo, a swap and the case of letters") {
  const std::vector<std::string> known = {"temperature", "pressure", "wind"};
  REQUIRE(nearest_name("temprature", known) == "temperature");
  REQUIRE(nearest_name("wnid", known) == "wind");
  REQUIRE(nearest_name("PRESSURE", known) == "pressure");
  REQUIRE(nearest_name("humidity", known).empty());
  REQUIRE(nearest_name("", known).empty());
  REQUIRE(nearest_name("wind", {}).empty());
}

TEST_CASE("a bare name is near to the same name inside a group") {
  REQUIRE(nearest_name("wnid", {"fields/wind", "pressure"}) == "fields/wind");
}

TEST_CASE("a hint guesses one name, or lists at most eight") {
  REQUIRE(name_hint("wnid", {"wind", "rain"}) == "; did you mean 'wind'?");
  REQUIRE(name_hint("xyz", {"wind", "rain"}) == "; known: wind, rain");
  REQUIRE(name_hint("xyz", {}).empty());
  REQUIRE(name_hint("?", {"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj"}) ==
          "; known: aa, bb, cc, dd, ee, ff, gg, hh and 2 more");
}

TEST_CASE("a word of a million letters is near to no name and costs no time") {
  REQUIRE(nearest_name(std::string(1000000, 'a'), {std::string(1000000, 'b'), "wind"}).empty());
}
