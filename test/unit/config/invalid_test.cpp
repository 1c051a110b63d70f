#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "unit/config/parse_text.hpp"

using damaris::test::error_of;
using damaris::test::read_text;
using damaris::test::schema_files;

namespace {

// What the first line of the file says: <!-- expect LINE:COLUMN: sentence -->
std::string expected(const std::string& text) {
  const std::string open = "<!-- expect ", close = " -->";
  const std::string line = text.substr(0, text.find('\n'));
  REQUIRE(line.compare(0, open.size(), open) == 0);
  REQUIRE(line.compare(line.size() - close.size(), close.size(), close) == 0);
  return line.substr(open.size(), line.size() - open.size() - close.size());
}

}  // namespace

TEST_CASE("every invalid configuration gives exactly the error that its first line names") {
  const auto files = schema_files("invalid");
  REQUIRE(files.size() >= 90);
  for (const auto& file : files) {
    const std::string name = file.filename().string(), text = read_text(file);
    INFO(name);
    const auto error = error_of([&] { damaris::config::parse(text, name); });
    CHECK(error.code() == DC_E_CONFIG);
    CHECK(error.sentence() == name + ":" + expected(text));
  }
}
