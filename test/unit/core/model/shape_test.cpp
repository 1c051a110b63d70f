#include <catch2/catch.hpp>

#include "core/model/model.hpp"
#include "support/errors.hpp"
#include "unit/core/model/example_model.hpp"

using namespace damaris::model;
using damaris::test::error_of;
using damaris::test::example_model;
using damaris::test::layout;

namespace {

std::string error(const Model& model, const Layout& l, const std::vector<std::int64_t>& values) {
  const auto error = error_of([&] { resolve(model, l, values); });
  REQUIRE(error.code() == DC_E_SHAPE);
  return error.sentence();
}

}  // namespace

TEST_CASE("rule 11: a Fortran layout is reversed into C order, with its global extents and ghost zones") {
  const Model model = example_model();
  const Shape shape = resolve(model, model.layouts[0], initial_parameters(model));
  REQUIRE(shape.ndims == 2);
  REQUIRE(shape.extents[0] == 4);
  REQUIRE(shape.extents[1] == 10);
  REQUIRE(shape.global[0] == 8);
  REQUIRE(shape.global[1] == 16);
  REQUIRE(shape.ghost_low[0] == 0);
  REQUIRE(shape.ghost_low[1] == 1);
  REQUIRE(shape.ghost_high[1] == 1);
  REQUIRE(shape.bytes == 160);
}

TEST_CASE("a C layout keeps its order and follows the parameters") {
  const Model model = example_model();
  const Shape shape = resolve(model, layout("l", {"nj", "ni"}), {10, 3, 20});
  REQUIRE(shape.extents[0] == 3);
  REQUIRE(shape.extents[1] == 10);
  REQUIRE(shape.global[0] == 0);
}

TEST_CASE("an extent of zero is allowed and gives no bytes") {
  const Model model = example_model();
  REQUIRE(resolve(model, layout("l", {"ni", "nj"}), {0, 4, 0}).bytes == 0);
}

TEST_CASE("a negative extent names layout, dimension and values") {
  const Model model = example_model();
  REQUIRE(error(model, layout("l", {"nj", "ni-9"}), {8, 4, 16}) ==
          "storm.xml:7:9: layout 'l': dimension 'ni-9' with ni=8 is -1; it must be 0 or more");
  REQUIRE(error(model, layout("l", {"1/(ni-8)"}), {8, 4, 16}) ==
          "storm.xml:7:9: layout 'l': dimension '1/(ni-8)' with ni=8: division by zero");
}

TEST_CASE("a ghost zone wider than its dimension names both") {
  const Model model = example_model();
  REQUIRE(error(model, model.layouts[0], {-1, 4, 16}) ==
          "storm.xml:7:9: layout 'tile': dimension 'ni+2' with ni=-1 is 1, less than its ghost zones of 1 and 1");
}

TEST_CASE("a layout above 2^63 bytes is an error, not a wrapped number") {
  const Model model = example_model();
  REQUIRE(error(model, layout("l", {"ni", "nj"}), {1ll << 40, 1ll << 40, 0}) ==
          "storm.xml:7:9: layout 'l' has more than 2^63 bytes");
}
