// Checks that damaris_embed keeps every byte.
// Runs in a test process.
// Before it: cmake/embed_text.cmake; after it: nothing.
#include <catch2/catch.hpp>
#include <string>

#include "embedded/odd_text.hpp"

TEST_CASE("an embedded text keeps quotes, brackets, semicolons, backslashes and both kinds of variables") {
  const std::string expected = "a \"b\"; [c] \\n ${PROJECT_NAME} @d@ $ENV{HOME}\n\nlast [[e]] ]=] line\n";
  REQUIRE(std::string(damaris::embedded::odd_text) == expected);
}
