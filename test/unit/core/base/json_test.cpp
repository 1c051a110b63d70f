#include "core/base/json.hpp"

#include <catch2/catch.hpp>

#include "core/base/text.hpp"

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

TEST_CASE("every string survives the text with escaped bytes, also one that looks like an escape, and others are not changed") {
  using namespace std::string_literals;
  std::vector<std::string> strings = {"",
                                      "/tmp/caf\xc3\xa9/x",
                                      "\xff\xfe",
                                      "caf\xe9/x",
                                      "\xe2\x82",
                                      "\xe2\x82\xff\xac",
                                      "\0ff"s,
                                      "\0"s,
                                      "a\0"s,
                                      "\0f"s,
                                      "\0\xff"s,
                                      "\xff\0ff\0"s,
                                      "\\u0000ff",
                                      "%ff",
                                      "\xed\xa0\x80",
                                      "\xef\xbf\xbd",
                                      "\xff"
                                      "00"};
  for (int byte = 0; byte < 256; ++byte)
    strings.push_back(std::string(1, static_cast<char>(byte)) + "/x" + static_cast<char>(byte));
  for (const std::string& one : strings) {
    const Json json = {{"path", one}, {"list", Json::array({3, Json::array({one})})}};
    const std::string text = damaris::text_with_bytes_of(json);
    INFO(text);
    CHECK(damaris::parse_with_bytes(text) == json);
    if (damaris::find_not_utf8(one) == std::string::npos && one.find('\0') == std::string::npos) CHECK(text == text_of(json));
  }
  CHECK(damaris::text_with_bytes_of({{"path", "a\xff"}}) == "{\"path\":\"a\\u0000ff\"}");
  CHECK(damaris::with_restored_bytes("\0fg\0F0"s) == "\0fg\0F0"s);
}
