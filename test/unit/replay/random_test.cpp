#include <catch2/catch.hpp>

#include <cstdlib>

#include "core/base/error.hpp"
#include "random_program.hpp"
#include "replay/evaluate.hpp"
#include "replay/reader.hpp"

using namespace damaris;

// DAMARIS_TEST_PROGRAMS: how many.
TEST_CASE("random programs take what the definition says, and the dead ends are the same") {
  const char* const wish = std::getenv("DAMARIS_TEST_PROGRAMS");
  const int programs = wish == nullptr ? 300 : std::atoi(wish);
  int dead = 0;
  for (int seed = 0; seed < programs; ++seed) {
    test::RandomProgram program(static_cast<std::uint64_t>(seed), 3 + seed % 60);
    const std::string text = program.text();
    const auto expected = program.ends();
    CAPTURE(seed, text);
    std::optional<std::vector<std::uint64_t>> found;
    try {
      found = replay::evaluate(replay::read_plan(text, "plan")).ends;
    } catch (const Error& error) {
      REQUIRE(error.sentence().find("wait for each other") != std::string::npos);
      ++dead;
    }
    REQUIRE(found == expected);
  }
  CHECK(dead > programs / 50);
  CHECK(dead < programs / 2);
}
