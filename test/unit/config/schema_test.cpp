#include "config/schema.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "unit/config/parse_text.hpp"

namespace {

std::string schema_text() {
  const char* source = std::getenv("DAMARIS_SOURCE_DIR");
  REQUIRE(source != nullptr);
  return damaris::test::read_text(std::filesystem::path(source) / "config-schemas" / "damaris.xsd");
}

// The declarations of one kind: from the tag to its end.
std::vector<std::string> declarations(const std::string& kind) {
  const std::string text = schema_text(), open = "<xs:" + kind + " name=", close = "</xs:" + kind + ">";
  std::vector<std::string> found;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const std::size_t tag = text.find('>', at);
    const std::size_t end = text[tag - 1] == '/' ? tag : text.find(close, at);
    found.push_back(text.substr(at, end - at));
  }
  return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("rule 12: every element and every attribute of the schema is documented") {
  const auto elements = declarations("element"), attributes = declarations("attribute");
  REQUIRE(elements.size() > 25);
  REQUIRE(attributes.size() > 50);
  for (const auto& text : elements) CHECK(has(text, "<xs:documentation>"));
  for (const auto& text : attributes) CHECK(has(text, "<xs:documentation>"));
}

TEST_CASE("rule 12: every optional attribute documents its default") {
  for (const auto& text : declarations("attribute")) {
    if (has(text, "use=\"required\"") || has(text, "older name") || has(text, "Required, unless")) continue;
    INFO(text);
    CHECK((has(text, "Default: ") || has(text, "No default")));
  }
}

TEST_CASE("the documented default is the one that is applied") {
  for (const auto& text : declarations("attribute")) {
    const std::string mark = " default=\"";
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const std::string value = text.substr(at + mark.size(), text.find('"', at + mark.size()) - at - mark.size());
    INFO(text);
    if (value.empty())
      CHECK((has(text, "Default: none") || has(text, "Default: empty")));
    else
      CHECK(has(text, "Default: " + value));
  }
}

TEST_CASE("the words of error messages come from the schema") {
  const damaris::config::Schema schema;
  const auto& root = schema.rule("simulation");
  REQUIRE(std::count(root.children.begin(), root.children.end(), "layout") == 1);
  REQUIRE(schema.rule("architecture").children_once);
  const auto* scope = schema.rule("event").attribute("scope");
  REQUIRE(scope != nullptr);
  REQUIRE(scope->values == std::vector<std::string>{"core", "node", "global", "local"});
  REQUIRE(scope->must_be == "core, node, global or local");
  REQUIRE(schema.matches(*scope, "node"));
  REQUIRE_FALSE(schema.matches(*scope, "Node"));
  REQUIRE(schema.rule("layout").attribute("type")->required);
  REQUIRE(schema.parents_of("buffer") == std::vector<std::string>{"architecture"});
  REQUIRE(schema.parents_of("nonsense").empty());
}

TEST_CASE("every type of a value has the words that end the sentence 'it must be'") {
  for (const auto& text : declarations("simpleType")) {
    INFO(text);
    CHECK(has(text, "<xs:documentation>"));
  }
}
