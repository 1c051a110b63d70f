// The table of <hdf5> and the schema say the same: config and the plugin read the one, users and validation the other.
#include "plugins/hdf5/attributes/attributes.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>

#include "unit/config/parse_text.hpp"

using Catch::Matchers::Contains;
using damaris::test::error_inside;
using damaris::test::model_of;
using namespace damaris::hdf5;

namespace {

// The text of the type "hdf5" or of another one of the schema.
std::string type_text(const std::string& kind, const std::string& name) {
  const char* source = std::getenv("DAMARIS_SOURCE_DIR");
  REQUIRE(source != nullptr);
  const std::string text = damaris::test::read_text(std::filesystem::path(source) / "config-schemas" / "damaris.xsd");
  const std::size_t begin = text.find("<xs:" + kind + " name=\"" + name + "\">");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("</xs:" + kind + ">", begin) - begin);
}

// What stands between `before` and the next quote, wherever it occurs.
std::multiset<std::string> quoted_after(const std::string& text, const std::string& before) {
  std::multiset<std::string> found;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    found.insert(text.substr(begin, text.find('"', begin) - begin));
  }
  return found;
}

std::string setting_of(const damaris::model::Model& model, const std::string& key) {
  for (const auto& [name, value] : model.plugins.at(0).settings)
    if (name == key) return value;
  return "none";
}

}  // namespace

TEST_CASE("the table of <hdf5> has the attributes of the schema, each once") {
  std::multiset<std::string> names;
  for (const StorageAttribute& attribute : kAttributes) names.insert(std::string(attribute.name));
  CHECK(names == quoted_after(type_text("complexType", "hdf5"), "<xs:attribute name=\""));
}

TEST_CASE("the table of <hdf5> has the choices of the schema") {
  for (const StorageAttribute& attribute : kAttributes) {
    if (attribute.kind != ValueKind::choice) continue;
    std::multiset<std::string> choices;
    for (const std::string_view choice : attribute.choices)
      if (!choice.empty()) choices.insert(std::string(choice));
    INFO(attribute.name);
    CHECK(choices == quoted_after(type_text("simpleType", std::string(attribute.name)), "<xs:enumeration value=\""));
  }
}

TEST_CASE("the table's presets are the schema's defaults, as the plugin gets them") {
  const damaris::model::Model model = model_of("<storage><hdf5/></storage>", " name='storm'");
  for (const StorageAttribute& attribute : kAttributes) {
    INFO(attribute.name);
    const std::string value = setting_of(model, setting_key(attribute));
    switch (attribute.kind) {
      case ValueKind::choice:
        CHECK(choice_of(attribute, value) == attribute.preset);
        break;
      case ValueKind::count:
      case ValueKind::bytes:
      case ValueKind::duration:
        CHECK(value == (attribute.preset == kNone ? "none" : std::to_string(attribute.preset)));
        if (attribute.preset == kNone) break;
        CHECK((attribute.lowest <= attribute.preset && attribute.preset <= attribute.highest));
        break;
      case ValueKind::filters:
        CHECK(value.empty());
        break;
      case ValueKind::basename:
        CHECK(value == (attribute.name == "basename" ? "storm" : "none"));
        break;
      case ValueKind::text:
        CHECK(value == "s");
        break;
      case ValueKind::reduction:
        CHECK(value == "none");
        break;
    }
  }
}

TEST_CASE("the exclusions of the table name existing attributes and choices") {
  for (const Exclusion& exclusion : kExclusions) {
    const StorageAttribute* const attribute = attribute_named(exclusion.attribute);
    REQUIRE(attribute != nullptr);
    if (!exclusion.choice.empty()) CHECK(choice_of(*attribute, exclusion.choice) > attribute->preset);
  }
}

TEST_CASE("a log must not have the name of a file of the run, whatever path leads to it") {
  const auto with_log = [](const std::string& file, const std::string& storage = "<hdf5 basename='out/storm'/>") {
    return "<log file='" + file + "'/><storage>" + storage + "</storage>";
  };
  for (const char* name :
       {"storm.jsonl", "storm.h5", "storm.xmf", "storm.g0.i1.h5", "storm.node7.s3.i42.h5", ".storm.lock", "../out//storm.jsonl"}) {
    INFO(name);
    CHECK_THAT(error_inside(with_log(std::string("out/") + name)), Contains("this is what files of the run are called"));
    CHECK_THAT(error_inside(with_log(std::filesystem::absolute("out").string() + "/" + name)), Contains("name another file"));
  }
  CHECK_THAT(error_inside(with_log("run.jsonl", "<hdf5 basename='./run'/>")), Contains("such as './run.log'"));
  for (const char* name :
       {"out/storm.log", "out/stormy.jsonl", "out/storm", "out/storm.txt", "storm.jsonl", "out/log.h5", "/dev/null"}) {
    INFO(name);
    CHECK_NOTHROW(model_of(with_log(name)));
  }
}

TEST_CASE("only a basename that is written to must not end like the name of a step's file") {
  for (const char* basename : {"storm.s", "storm.g", "storm.i", "storm7", "storm.7", "storm-s0", "storms0", "run.g0/storm"}) {
    INFO(basename);
    CHECK_NOTHROW(model_of(std::string("<storage><hdf5 basename='") + basename + "'/></storage>"));
  }
  CHECK_NOTHROW(model_of("<storage><hdf5 restart='storm.g0'/></storage>"));  // of an earlier version: reading harms nobody
  CHECK_NOTHROW(model_of("<storage><hdf5 basename='storm'/></storage>", " name='storm.g0'"));
}
