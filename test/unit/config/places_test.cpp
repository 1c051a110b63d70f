#include <catch2/catch.hpp>

#include "unit/config/parse_text.hpp"

using Catch::Matchers::Contains;
using damaris::test::error_text;
using damaris::test::model_of;

TEST_CASE("an error names line and column of the value, whatever precedes it") {
  const std::string bad = "<log level='loud'/></simulation>";
  REQUIRE_THAT(error_text("<simulation>" + bad), Contains("x.xml:1:25: "));
  REQUIRE_THAT(error_text("<simulation>\n" + bad), Contains("x.xml:2:13: "));
  REQUIRE_THAT(error_text("<simulation>\r\n\r\n" + bad), Contains("x.xml:3:13: "));
  REQUIRE_THAT(error_text("<simulation>\t" + bad), Contains("x.xml:1:26: "));
  REQUIRE_THAT(error_text("\xef\xbb\xbf<simulation>" + bad), Contains("x.xml:1:25: "));
  REQUIRE_THAT(error_text("<simulation>\n<!-- \n > < -->" + bad), Contains("x.xml:3:21: "));
}

TEST_CASE("columns count characters, not bytes") {
  const std::string start = "<simulation><layout name='l' type='real'/><variable name='v' layout='l' unit='";
  const auto column = [&](const std::string& unit) { return error_text(start + unit + "'/><log level='loud'/></simulation>"); };
  REQUIRE_THAT(column("m"), Contains("x.xml:1:95: "));
  REQUIRE_THAT(column("\xc2\xb5"), Contains("x.xml:1:95: "));          // one character of two bytes
  REQUIRE_THAT(column("\xf0\x9d\x9c\x87"), Contains("x.xml:1:96: "));  // one of four, which editors count as two
}

TEST_CASE("attributes are found on other lines, with odd spacing, and with '>' in a value before them") {
  REQUIRE_THAT(error_text("<simulation><event name='e'\n   using = 'a>b.so' action=\"f\"\n  scope\n=\n 'nodes' /></simulation>"),
               Contains("x.xml:5:3: scope=\"nodes\""));
}

TEST_CASE("a position inside a value is exact, unless the value is written with entities") {
  REQUIRE_THAT(error_text("<simulation><parameter name='n' value='1 + *'/></simulation>"), Contains("x.xml:1:44: "));
  REQUIRE_THAT(error_text("<simulation><parameter name='n' value='&#49; + *'/></simulation>"), Contains("x.xml:1:40: "));
}

TEST_CASE("positions are right in a file of one very long line") {
  std::string line = "<simulation><layout name='l' type='real'/>";
  for (int i = 0; i < 3000; ++i) line += "<variable name='v" + std::to_string(i) + "' layout='l' unit='\xc2\xb5'/>";
  const std::size_t characters = line.size() - 3000;
  REQUIRE_THAT(error_text(line + "<log level='loud'/></simulation>"),
               Contains("x.xml:1:" + std::to_string(characters + 13) + ": level"));
}

TEST_CASE("a very long value is shortened in the message, never inside a character") {
  std::string level;
  for (int i = 0; i < 2000; ++i) level += "\xc3\xa9";
  const std::string error = error_text("<simulation><log level='" + level + "'/></simulation>");
  REQUIRE(error.size() < 300);
  REQUIRE_THAT(error, Contains("\xc3\xa9...\": it must be"));
}

TEST_CASE("control characters of a value do not reach the terminal, and an error stays one line") {
  const std::string error = error_text("<simulation><log level='a&#10;b&#9;&#127;'/></simulation>");
  REQUIRE_THAT(error, Contains("level=\"a?b??\": it must be"));
  REQUIRE(error.find('\n') == std::string::npos);
}

TEST_CASE("locations stay in the model, for messages at run time") {
  const auto model = model_of("\n  <layout name='l' type='real'/>\n <variable name='v' layout='l'/>");
  REQUIRE(place(model, model.layouts[0].where) == "x.xml:2:3");
  REQUIRE(place(model, model.variables[0].where) == "x.xml:3:2");
}
