#include "core/base/json.hpp"

#include <catch2/catch.hpp>

using damaris::Json;
using damaris::text_of;

TEST_CASE("invalid UTF-8 is replaced, and the text can be read again") {
  const std::string text = text_of({{"path", "run\xff/storm"}, {"step", 3}});
  CHECK(text == "{\"path\":\"run\xef\xbf\xbd/storm\",\"step\":3}");
  CHECK(Json::parse(text)["step"] == 3);
  CHECK(text_of({{"step", 3}}, 2) == "{\n  \"step\": 3\n}");
}

TEST_CASE("a number that does not fit is named in the error") {
  std::uint8_t value = 0;
  CHECK_THROWS_WITH(damaris::read_value(Json(300), value), Catch::Contains("the number 300 does not fit"));
  CHECK_THROWS_WITH(damaris::read_value(Json(-1), value), Catch::Contains("the number -1 does not fit"));
}
