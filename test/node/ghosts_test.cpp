// Ghost zones beside shapes that change: what is refused, and clients that have no elements at all.
#include <algorithm>

#include "node.hpp"

namespace damaris::test {
namespace {

const double kOne = 1;

TEST_CASE("a shape smaller than its ghost zones is refused, an empty one has none") {
  model::Model model = node_model();
  model.layouts[1].ghost = {{model::Expression::parse("1"), model::Expression::parse("1")}};
  add_recorder(model);
  Node node(model, 1);
  node.start();
  const double data[3] = {1, 2, 3};
  const auto set = [&](std::int64_t extent) { node.client(0).shapes().set_shape("vec", 1, &extent); };
  const Error error = error_of([&] { set(1); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK(error.sentence().find("extent 1 of 'vec' is 1, less than its ghost zones of 1 and 1 (layout 'vector'") == 0);
  CHECK_NOTHROW(set(2));  // nothing but ghost zones
  set(0);
  CHECK(node.client(0).write(node.variable(0, "vec"), 0, 0, nullptr) == DC_OK);
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  set(3);
  CHECK(node.client(0).write(node.variable(0, "vec"), 1, 0, data) == DC_OK);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  CHECK(node.client(0).flush(1, 60'000).code == DC_OK);
  CHECK(node.client(0).status().buffer_used_bytes == 0);
  node.stop();
  CHECK(node.lines("vec:0.0=0").size() == 1);
  CHECK(node.lines("vec:0.0=24").size() == 1);
}

TEST_CASE("parameters that make the ghost zones wider than a client's own shape change no shape at all") {
  model::Model model = node_model();
  model.layouts[1].ghost = {{model::Expression::parse("n/100"), model::Expression::parse("0")}};
  Node node(model, 1);
  client::Shapes& shapes = node.client(0).shapes();
  const std::int64_t extent = 5;
  shapes.set_shape("vec", 1, &extent);
  shapes.set_parameter("n", 1'000);
  CHECK(error_of([&] { shapes.apply_parameters(); }).code() == DC_E_SHAPE);
  CHECK(node.variable(0, "vec").shape.ghost_low[0] == 1);
  shapes.set_shape("vec", 0, nullptr);
  CHECK(node.variable(0, "vec").shape.extents[0] == 100);
}

TEST_CASE(
    "a client without elements is taken up to the end of the global array, and its block has neither ghost zones nor their "
    "extents") {
  model::Model model = node_model();
  const auto number = [](int value) { return model::Expression::constant(value); };
  model.layouts[2].ghost = {{number(1), number(1)}, {number(1), number(0)}};
  Node node(model, 1);
  client::Shapes& shapes = node.client(0).shapes();
  const std::vector<std::int64_t> extents = GENERATE(std::vector<std::int64_t>{0, 4}, std::vector<std::int64_t>{4, 0},
                                                     std::vector<std::int64_t>{0, 0}, std::vector<std::int64_t>{0, 1});
  const std::int64_t ghosts[2] = {2, 1};
  const auto interior = [&](int d) { return std::max<std::int64_t>(0, extents[static_cast<std::size_t>(d)] - ghosts[d]); };
  const std::int64_t position[2] = {4 - interior(0), 3 - interior(1)};
  shapes.set_shape("tile", 2, extents.data());
  shapes.set_position("tile", 2, position);
  REQUIRE(node.client(0).write(node.variable(0, "tile"), 0, 0, client::Source{nullptr, DC_FLOAT32, 2, extents.data()}) == DC_OK);
  const auto& block = *reinterpret_cast<shm::BlockHeader*>(node.region().at(node.region().span(0).arena_offset));
  const shm::Lists lists(const_cast<shm::BlockHeader&>(block), node.variable(0, "tile").form);
  for (int d = 0; d < 2; ++d) {
    CHECK(lists.extents()[d] == interior(d));
    CHECK(lists.ghost_low()[d] == 0);
    CHECK(lists.ghost_high()[d] == 0);
  }
  node.start();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
}

TEST_CASE("a layout whose parameters leave no elements may declare ghost zones") {
  model::Model model = node_model();
  model.layouts[1].ghost = {{model::Expression::parse("1"), model::Expression::parse("1")}};
  Node node(model, 1);
  node.client(0).shapes().set_parameter("n", 0);
  CHECK(node.client(0).write(node.variable(0, "vec"), 0, 0, nullptr) == DC_OK);
  node.client(0).shapes().set_parameter("n", 1);
  CHECK(error_of([&] { node.client(0).write(node.variable(0, "vec"), 1, 0, &kOne); }).code() == DC_E_SHAPE);
}

}  // namespace
}  // namespace damaris::test
