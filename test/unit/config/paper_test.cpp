#include <catch2/catch.hpp>

#include "config/config.hpp"

using namespace damaris::model;

namespace {

// As printed in the paper, inside the root element that its page does not show.
constexpr char kPaper[] = R"(<simulation>
<layout name="my_layout" type="real"
 dimensions="64,16,2" language="fortran" />
<variable name="my_variable" layout="my_layout" />
<event name="my_event" action="do_something"
 using="my_plugin.so" scope="local" />
</simulation>
)";

}  // namespace

TEST_CASE("rule 12: the example of the paper loads as printed, directly inside <simulation>") {
  const Model model = damaris::config::parse(kPaper, "my_config.xml");
  REQUIRE(model.layouts.size() == 1);
  REQUIRE(model.variables.size() == 1);
  REQUIRE(model.variables[0].path == "my_variable");
  REQUIRE(model.layouts[model.variables[0].layout].name == "my_layout");
}

TEST_CASE("rule 12: real is 32 bits") {
  const Model model = damaris::config::parse(kPaper, "my_config.xml");
  REQUIRE(model.layouts[0].type == DC_FLOAT32);
  REQUIRE(model.layouts[0].element_bytes == 4);
}

TEST_CASE("rule 12: the scope local of the paper is the scope node") {
  const Model model = damaris::config::parse(kPaper, "my_config.xml");
  REQUIRE(model.events.size() == 1);
  REQUIRE(model.events[0].name == "my_event");
  REQUIRE(model.events[0].actions.size() == 1);
  const Action& action = model.events[0].actions[0];
  REQUIRE(action.function == "do_something");
  REQUIRE(action.library == "my_plugin.so");
  REQUIRE(action.scope == DC_SCOPE_NODE);
  REQUIRE_FALSE(action.on_root);
}

TEST_CASE("rule 11: the dimensions of a Fortran layout are listed fastest first and reversed in C order") {
  const Model model = damaris::config::parse(kPaper, "my_config.xml");
  REQUIRE(model.layouts[0].fortran_order);
  const Shape shape = resolve(model, model.layouts[0], initial_parameters(model));
  REQUIRE(shape.ndims == 3);
  REQUIRE(shape.extents[0] == 2);
  REQUIRE(shape.extents[1] == 16);
  REQUIRE(shape.extents[2] == 64);
  REQUIRE(shape.bytes == 64 * 16 * 2 * 4);
}

TEST_CASE("rule 12: both placements give the same model") {
  const std::string direct = kPaper;
  std::string sections = direct;
  sections.replace(sections.find("<layout"), 0, "<data>");
  sections.replace(sections.find("<event"), 0, "</data><actions>");
  sections.replace(sections.find("</simulation>"), 0, "</actions>");
  const Model a = damaris::config::parse(direct, "x.xml");
  const Model b = damaris::config::parse(sections, "x.xml");
  REQUIRE(b.layouts.size() == a.layouts.size());
  REQUIRE(b.variables[0].path == a.variables[0].path);
  REQUIRE(b.events[0].actions[0].library == a.events[0].actions[0].library);
  REQUIRE(resolve(b, b.layouts[0], {}).bytes == resolve(a, a.layouts[0], {}).bytes);
}
