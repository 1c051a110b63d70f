// Shapes, positions and parameters of variables, some of which are looked up only after they were set.
#include "client/shapes.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <thread>

#include "support/errors.hpp"
#include "unit/core/model/example_model.hpp"

namespace {

using namespace damaris;
using client::Declarations;
using client::Shapes;
using client::Variable;
using test::error_of;

// Variables air/t and sea/t of the layout "tile": (ni+2, nj) in Fortran order with a ghost zone of 1 in x, which is (4, 10) in C order.
struct Example {
  explicit Example(const model::Model& given = test::example_model())
      : table(model::variable_table_of(given)), frame(std::make_shared<const model::Frame>(given)) {}
  Shapes shapes(std::uint32_t threads = 1, Shapes::FirstLookUp first = {}) const {
    return Shapes(Declarations::of(frame, table), threads, std::move(first));
  }
  const std::string table;
  const std::shared_ptr<const model::Frame> frame;
};

std::vector<std::int64_t> extents(const Variable& variable) {
  return {variable.shape.extents, variable.shape.extents + variable.shape.ndims};
}
using List = std::vector<std::int64_t>;

const std::int64_t kFive[] = {5, 6};

}  // namespace

TEST_CASE("a variable has the shape and position that its layout was given before it was first looked up") {
  Example example;
  Shapes shapes = example.shapes();
  const Variable& before = shapes.find("air/t");
  const std::int64_t position[] = {2, 1};
  shapes.set_shape("tile", 2, kFive);
  shapes.set_position("tile", 2, position);
  const Variable& after = shapes.find("sea/t");
  CHECK(&after != &before);
  for (const Variable* variable : {&before, &after}) {
    CHECK(extents(*variable) == List{6, 5});
    CHECK(variable->shape.bytes == 6 * 5 * 4);
    CHECK(variable->position[0] == 1);
    CHECK(variable->position[1] == 2);
    CHECK(variable->form.has(shm::kHasPosition));
    CHECK(variable->has_explicit_shape);
    CHECK_FALSE(variable->place_checked.load());
  }
}

TEST_CASE("a variable that is first looked up after parameters were applied has the shape of these") {
  Example example;
  Shapes shapes = example.shapes();
  const Variable& before = shapes.find("air/t");
  shapes.set_parameter("ni", 20);
  const Variable& between = shapes.find("sea/t");
  CHECK(extents(between) == List{4, 10});
  CHECK(shapes.next_shape(between).extents[1] == 22);
  shapes.apply_parameters();
  for (const Variable* variable : {&before, &between}) CHECK(extents(*variable) == List{4, 22});
  CHECK(extents(shapes.find("salt")) == List{40});
}

TEST_CASE("an explicit shape of a layout stays when parameters change, also for variables that are looked up later") {
  Example example;
  Shapes shapes = example.shapes();
  shapes.set_shape("tile", 2, kFive);
  shapes.set_parameter("ni", 20);
  const Variable& between = shapes.find("air/t");
  CHECK(shapes.next_shape(between).extents[1] == 5);
  shapes.apply_parameters();
  CHECK(extents(between) == List{6, 5});
  CHECK(extents(shapes.find("sea/t")) == List{6, 5});
  shapes.set_shape("tile", 0, nullptr);
  CHECK(extents(between) == List{4, 22});
}

TEST_CASE("a variable may differ from its layout, until the layout is set again") {
  Example example;
  Shapes shapes = example.shapes();
  shapes.set_shape("tile", 2, kFive);
  shapes.set_shape("air/t", 0, nullptr);
  CHECK(extents(shapes.find("air/t")) == List{4, 10});
  CHECK(extents(shapes.find("sea/t")) == List{6, 5});
  shapes.set_shape("tile", 2, kFive);
  CHECK(extents(shapes.find("air/t")) == List{6, 5});
}

TEST_CASE("a shape that a layout cannot have is refused with the name of its first variable, and changes nothing") {
  Example example;
  Shapes shapes = example.shapes();
  const auto dims = error_of([&] { shapes.set_shape("tile", 1, kFive); });
  CHECK(dims.code() == DC_E_SHAPE);
  CHECK(dims.sentence() == "dc_set_shape: 'air/t' has 2 dimensions, the call gives 1");
  const std::int64_t thin[] = {1, 6};
  CHECK(error_of([&] { shapes.set_shape("tile", 2, thin); }).sentence() ==
        "extent 1 of 'air/t' is 1, less than its ghost zones of 1 and 1 (layout 'tile', storm.xml:7:9)");
  CHECK(extents(shapes.find("sea/t")) == List{4, 10});
}

TEST_CASE("parameters with which an explicit shape is too small are refused, although no variable of it was looked up") {
  model::Model model = test::example_model();
  model.layouts[0].ghost[0].low = model::Expression::parse("ni/4");
  Example example(model);
  Shapes shapes = example.shapes();
  shapes.set_shape("tile", 2, kFive);
  shapes.set_parameter("ni", 32);
  CHECK(error_of([&] { shapes.require_next(); }).code() == DC_E_SHAPE);
  CHECK(error_of([&] { shapes.apply_parameters(); }).code() == DC_E_SHAPE);
  CHECK(extents(shapes.find("air/t")) == List{6, 5});
}

TEST_CASE("a variable is prepared once, when it is first looked up") {
  Example example;
  std::vector<std::uint32_t> first;
  Shapes shapes = example.shapes(1, [&](std::uint32_t id) { first.push_back(id); });
  for (const char* name : {"sea/salt", "air/t", "salt", "air/t", "sea/t", "body"}) shapes.find(name);
  CHECK(first == std::vector<std::uint32_t>{2, 0, 1, 3});
  CHECK_FALSE(shapes.find("salt").always_due);
  CHECK(shapes.find("body").always_due);
  CHECK(&shapes.find("salt") == &shapes.find("sea/salt"));
  CHECK(error_of([&] { shapes.find("slat"); }).sentence() == "no variable 'slat' in storm.xml; did you mean 'sea/salt'?");
  CHECK(error_of([&] { shapes.set_position("tiles", 1, kFive); }).sentence() ==
        "no variable or layout 'tiles' in storm.xml; did you mean 'tile'?");
}

TEST_CASE("threads that look the same variables up at once get the same objects, complete") {
  constexpr int kVariables = 1000, kThreads = 4;
  model::Model model = test::example_model();
  model.variables.clear();
  for (std::uint32_t id = 0; id < kVariables; ++id) model.variables.push_back(test::variable(id, "", "v" + std::to_string(id), 0));
  Example example(model);
  std::atomic<int> first{0}, wrong{0};
  Shapes shapes = example.shapes(kThreads, [&](std::uint32_t) { ++first; });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&] {
      for (std::uint32_t id = 0; id < kVariables; ++id) {
        const Variable& variable = shapes.find("v" + std::to_string(id));
        if (variable.id != id || variable.shape.bytes != 160 || variable.type != DC_FLOAT32) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(first == kVariables);
  CHECK(wrong == 0);
}
