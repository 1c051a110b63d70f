#include <catch2/catch.hpp>

#include <algorithm>
#include <regex>

#include "core/model/json.hpp"
#include "unit/config/parse_text.hpp"

using namespace damaris::model;
using damaris::test::read_text;
using damaris::test::schema_files;

namespace {

std::vector<Model> example_models() {
  std::vector<Model> models;
  for (const auto& file : schema_files("examples")) {
    INFO(file);
    models.push_back(damaris::config::parse(read_text(file), file.filename().string()));
  }
  return models;
}

}  // namespace

TEST_CASE("every example is valid") { REQUIRE(example_models().size() >= 6); }

TEST_CASE("rule 6: every example survives the way through its compiled form") {
  for (const Model& model : example_models()) {
    INFO(model.file);
    const Model back = from_json(to_json(model));
    REQUIRE(to_json(back) == to_json(model));
    const auto values = initial_parameters(model);
    REQUIRE(initial_parameters(back) == values);
    for (std::size_t i = 0; i < model.layouts.size(); ++i)
      REQUIRE(resolve(back, back.layouts[i], values).bytes == resolve(model, model.layouts[i], values).bytes);
  }
}

TEST_CASE("the example everything.xml shows every attribute of the schema") {
  const auto files = schema_files("examples");
  const auto everything =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return file.filename() == "everything.xml"; });
  REQUIRE(everything != files.end());
  const std::string text = read_text(*everything);
  const std::string schema = read_text(everything->parent_path().parent_path() / "damaris.xsd");
  const std::regex attribute("<xs:attribute name=\"([a-z0-9-]+)\"");
  int seen = 0;
  for (std::sregex_iterator it(schema.begin(), schema.end(), attribute), end; it != end; ++it, ++seen) {
    const std::string name = (*it)[1];
    INFO(name);
    const bool shown =
        text.find(" " + name + "=\"") != std::string::npos || text.find("\"" + name + "\" is an older name") != std::string::npos;
    REQUIRE(shown);
  }
  REQUIRE(seen > 50);
}
