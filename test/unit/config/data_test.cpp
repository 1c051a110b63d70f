#include <catch2/catch.hpp>

#include "unit/config/parse_text.hpp"

using namespace damaris::model;
using Catch::Matchers::Contains;
using damaris::test::error_inside;
using damaris::test::model_of;

namespace {

Shape shape_of(const std::string& layout_attributes, const std::string& root_attributes = "") {
  const Model model = model_of(
      "<parameter name='nx' value='8'/><parameter name='ny' value='6'/><layout name='l' type='real' " + layout_attributes + "/>",
      root_attributes);
  return resolve(model, model.layouts.at(0), initial_parameters(model));
}

std::int64_t parameter(const std::string& value) {
  return model_of("<parameter name='n' value='5'/><parameter name='p' value='" + value + "'/>").parameters.at(1).value;
}

}  // namespace

TEST_CASE("the value of a parameter is an expression over others, in any order of declaration") {
  REQUIRE(parameter("2*n+1") == 11);
  REQUIRE(parameter("-(n-7)*3") == 6);
  REQUIRE(parameter("n/2%3") == 2);
  const Model model = model_of("<parameter name='b' value='2*a'/><parameter name='a' value='4'/>");
  REQUIRE(model.parameters[0].name == "a");
  REQUIRE(model.parameters[1].name == "b");
  REQUIRE(model.parameters[1].value == 8);
}

TEST_CASE("a computed parameter is constant for the program and follows the one it uses") {
  const Model model =
      model_of("<parameter name='a' value='4'/><parameter name='b' value='2*a'/><parameter name='c' value='1' constant='true'/>");
  REQUIRE_FALSE(model.parameters[0].constant);
  REQUIRE(model.parameters[1].constant);
  REQUIRE(model.parameters[2].constant);
  auto values = initial_parameters(model);
  values[0] = 10;
  update_parameters(model, values);
  REQUIRE(values == std::vector<std::int64_t>{10, 20, 1});
}

TEST_CASE("a circle of a thousand parameters is named in short") {
  std::string xml;
  for (int i = 0; i < 1000; ++i)
    xml += "<parameter name='p" + std::to_string(i) + "' value='p" + std::to_string((i + 1) % 1000) + "'/>";
  const std::string error = error_inside(xml);
  REQUIRE_THAT(error, Contains("parameters use each other in a circle: p0 -> p1") && Contains("-> p0"));
  REQUIRE(error.size() < 400);
}

TEST_CASE("rule 11: every list of a layout follows the language, of the layout or of the simulation") {
  const Shape c = shape_of("dimensions='nx+2,ny' global='80,60' ghost='1:1,0'");
  REQUIRE(c.extents[0] == 10);
  REQUIRE(c.extents[1] == 6);
  REQUIRE(c.global[0] == 80);
  REQUIRE(c.ghost_low[0] == 1);
  REQUIRE(c.ghost_low[1] == 0);
  for (const Shape& f : {shape_of("dimensions='nx+2,ny' global='80,60' ghost='1:1,0' language='fortran'"),
                         shape_of("dimensions='nx+2,ny' global='80,60' ghost='1:1,0'", " language='fortran'")}) {
    REQUIRE(f.extents[0] == 6);
    REQUIRE(f.extents[1] == 10);
    REQUIRE(f.global[0] == 60);
    REQUIRE(f.global[1] == 80);
    REQUIRE(f.ghost_low[1] == 1);
    REQUIRE(f.ghost_high[1] == 1);
  }
  REQUIRE(shape_of("dimensions='nx,ny' language='c'", " language='fortran'").extents[0] == 8);
}

TEST_CASE("rule 11: a ghost width is one number for both ends, or low:high, and may be an expression") {
  const Shape shape = shape_of("dimensions='nx,ny' ghost='2*1, 1:ny/2'");
  REQUIRE(shape.ghost_low[0] == 2);
  REQUIRE(shape.ghost_high[0] == 2);
  REQUIRE(shape.ghost_low[1] == 1);
  REQUIRE(shape.ghost_high[1] == 3);
}

TEST_CASE("the older name ghosts means the same") { REQUIRE(shape_of("dimensions='nx' ghosts='1:2'").ghost_high[0] == 2); }

TEST_CASE("a layout without dimensions is a scalar") {
  const Shape shape = shape_of("");
  REQUIRE(shape.ndims == 1);
  REQUIRE(shape.extents[0] == 1);
  REQUIRE(shape.bytes == 4);
}

TEST_CASE("eight dimensions are allowed") { REQUIRE(shape_of("dimensions='1,2,3,4,5,6,7,8'").ndims == 8); }

TEST_CASE("a layout that has no shape before the program sets its parameters is accepted, a fixed one is not") {
  const std::string layout = "<layout name='l' type='real' dimensions='n-1'/>";
  REQUIRE(model_of("<parameter name='n' value='0'/>" + layout).layouts.size() == 1);
  REQUIRE_THAT(error_inside("<parameter name='n' value='0' constant='true'/>" + layout),
               Contains("dimension 'n-1' with n=0 is -1; it must be 0 or more"));
}

TEST_CASE("groups make paths, and switch off what is in them") {
  const Model model = model_of(
      "<layout name='l' type='real'/><variable name='a' layout='l' unit='K' description='d'/>"
      "<group name='g'><variable name='a' layout='l'/><group name='h' enabled='false'><variable name='b' "
      "layout='l'/></group></group>"
      "<group name='k' store='false'><variable name='c' layout='l'/><variable name='d' layout='l' enabled='false'/></group>");
  REQUIRE(model.variables.size() == 5);
  REQUIRE(model.variables[0].path == "a");
  REQUIRE(model.variables[0].unit == "K");
  REQUIRE(model.variables[0].description == "d");
  REQUIRE(model.variables[1].path == "g/a");
  REQUIRE(model.variables[1].enabled);
  REQUIRE(model.variables[2].path == "g/h/b");
  REQUIRE_FALSE(model.variables[2].enabled);
  REQUIRE_FALSE(model.variables[3].store);
  REQUIRE(model.variables[3].enabled);
  REQUIRE_FALSE(model.variables[4].enabled);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(model.variables[i].id == i);
}

TEST_CASE("a group may be continued in a second element") {
  const Model model = model_of(
      "<layout name='l' type='real'/><group name='g'><variable name='a' layout='l'/></group><group name='g'><variable name='b' "
      "layout='l'/></group>");
  REQUIRE(model.variables[1].path == "g/b");
}

TEST_CASE("a variable may lie on a mesh whose coordinates are variables") {
  const Model model = model_of(
      "<layout name='l' type='real'/><variable name='v' layout='l' mesh='m'/><mesh name='m'><coord name='x'/></mesh><variable "
      "name='x' layout='l'/>");
  REQUIRE(model.variables[0].mesh == "m");
  REQUIRE(model.variables[0].coordinates == std::vector<std::uint32_t>{1});
  REQUIRE(model.variables[1].coordinates.empty());
}

TEST_CASE("coordinates are in the order of the layout's language and are kept in C order") {
  const std::string inside =
      "<layout name='line' type='real' dimensions='4'/><mesh name='m'><coord name='a'/><coord name='b'/></mesh>"
      "<layout name='c' type='real' dimensions='2,3'/><layout name='f' type='real' dimensions='2,3' language='fortran'/>"
      "<variable name='a' layout='line'/><variable name='b' layout='line'/>"
      "<variable name='in_c' layout='c' mesh='m'/><variable name='in_fortran' layout='f' mesh='m'/>";
  const Model model = model_of(inside);
  REQUIRE(model.variables[2].coordinates == std::vector<std::uint32_t>{0, 1});
  REQUIRE(model.variables[3].coordinates == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("the coordinates of a mesh that is not rectilinear are only names") {
  const Model model = model_of(
      "<layout name='l' type='real' dimensions='2,3'/><variable name='v' layout='l' mesh='m'/><mesh name='m' type='curvilinear'>"
      "<coord name='x'/></mesh><variable name='x' layout='l'/>");
  REQUIRE(model.variables[0].coordinates.empty());
}

TEST_CASE("elements may be in sections or not, in any order") {
  const Model model = model_of(
      "<variable name='v' layout='l'/><data><layout name='l' type='real' dimensions='n'/></data><parameter name='n' "
      "value='3'/><data><variable name='w' layout='l'/></data>");
  REQUIRE(model.variables.size() == 2);
  REQUIRE(resolve(model, model.layouts[0], initial_parameters(model)).bytes == 12);
}

TEST_CASE("all errors are reported at once, in the order of the file, at most twenty") {
  std::string xml = "<layout name='l' type='real'/>";
  for (int i = 0; i < 30; ++i) xml += "\n<variable name='v" + std::to_string(i) + "' layout='k'/>";
  const std::string error = error_inside(xml);
  REQUIRE(std::count(error.begin(), error.end(), '\n') == 20);
  REQUIRE_THAT(error, Contains("x.xml:2:29: variable 'v0': no layout 'k' is declared") && Contains("x.xml:21:30: variable 'v19'") &&
                          Contains("\nx.xml: and 10 more errors"));
}
