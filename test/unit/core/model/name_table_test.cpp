#include "core/model/names.hpp"

#include <catch2/catch.hpp>

#include <string>

using damaris::model::NameTable;

TEST_CASE("a name is found by its bytes, whatever its length, and by no part of it") {
  const std::string longest = "a/path/of/several/groups/with/a/variable";
  NameTable table(longest.size() + 1);
  for (std::size_t length = 0; length <= longest.size(); ++length) table.set(longest.substr(0, length), static_cast<int>(length));
  for (std::size_t length = 0; length <= longest.size(); ++length) {
    const std::string name = longest.substr(0, length);
    CHECK(table.find(name) == static_cast<int>(length));
    if (length > 0) CHECK(table.find(name.substr(0, length - 1) + '!') == NameTable::kNone);
  }
}

TEST_CASE("a name that is set again has the last value") {
  NameTable table(1);
  table.set("t", 1);
  table.set("t", 2);
  CHECK(table.find("t") == 2);
}

TEST_CASE("a table that is as full as it may be finds all of many names, and not others") {
  constexpr int kNames = 10'000;
  NameTable table(kNames);
  for (int i = 0; i < kNames; ++i) table.set("grid/v" + std::to_string(i), i);
  int wrong = 0;
  for (int i = 0; i < kNames; ++i) wrong += table.find("grid/v" + std::to_string(i)) == i ? 0 : 1;
  for (int i = 0; i < kNames; ++i) wrong += table.find("grid/w" + std::to_string(i)) == NameTable::kNone ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("an empty table finds nothing") { CHECK(NameTable(0).find("") == NameTable::kNone); }
