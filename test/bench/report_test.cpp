// The tables of damaris-bench: 80 columns, whatever was measured.
#include <catch2/catch.hpp>

#include "report.hpp"

using damaris::bench::row_text;
using damaris::bench::short_text;

TEST_CASE("a number has as many of three digits as 5 columns have room for") {
  CHECK(short_text(0.856) == "0.856");
  CHECK(short_text(0.0368) == "0.037");
  CHECK(short_text(-0.1234) == "-0.12");
  CHECK(short_text(0) == "0");
  CHECK(short_text(12.345) == "12.3");
  CHECK(short_text(1234.5) == "1234");
  CHECK(short_text(-0.000123) == "-0.00");
}

TEST_CASE("a row is no wider than a terminal of 80 columns") {
  for (const double value : {0.0424, -0.0424, 0.000123, -0.000123, 12345.6, -999.9})
    CHECK(row_text({std::string(45, 'x'), {value, value, value, value}, true, 1.05, 0.95, 0}).size() <= 80);
  CHECK(row_text({"a name of so many words that it takes more than its column", {}, true, 1.05, 0.95, 0}).find("\n  its column") >
        45);
}
