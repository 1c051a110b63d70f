// What a write accepts as the source of its data.
#include "client/source.hpp"

#include <catch2/catch.hpp>

#include "support/errors.hpp"

namespace {

using damaris::Error;
using damaris::client::check_source;
using damaris::client::Source;
using damaris::test::error_of;

// A model with one variable "t" of 2x3 floats, and that variable as the client has it.
struct OneVariable {
  OneVariable() {
    model.file = "t.xml";
    model.layouts.emplace_back();
    model.layouts[0].name = "tile";
    model.layouts[0].where.line = 4;
    model.variables.emplace_back();
    model.variables[0].name = model.variables[0].path = "t";
    table = damaris::model::variable_table_of(model);
    variable.type = DC_FLOAT32;
    variable.element_bytes = 4;
    variable.shape.ndims = 2;
    variable.shape.extents[0] = 2;
    variable.shape.extents[1] = 3;
    variable.shape.bytes = 24;
  }
  void check(const Source& source) const { check_source(declared(), variable, source, 7); }
  damaris::client::Declarations declared() const {
    return damaris::client::Declarations::of(std::make_shared<const damaris::model::Frame>(model), table);
  }

  damaris::model::Model model;
  std::string table;
  damaris::client::Variable variable;
  float data[6] = {};
};

}  // namespace

TEST_CASE("the extents of the layout are accepted in the layout's own order") {
  OneVariable one;
  const std::int64_t c_order[2] = {2, 3}, fortran_order[2] = {3, 2};
  one.check({one.data, DC_FLOAT32, 2, c_order});
  CHECK(error_of([&] { one.check({one.data, DC_FLOAT32, 2, fortran_order}); }).code() == DC_E_SHAPE);
  one.variable.fortran_order = true;
  one.check({one.data, DC_FLOAT32, 2, fortran_order});
  CHECK(error_of([&] { one.check({one.data, DC_FLOAT32, 2, c_order}); }).code() == DC_E_SHAPE);
}

TEST_CASE("a flat array fits a layout of any dimensions when it has as many elements") {
  OneVariable one;
  const std::int64_t six = 6, five = 5;
  one.check({one.data, DC_FLOAT32, 1, &six});
  const Error other = error_of([&] { one.check({one.data, DC_FLOAT32, 1, &five}); });
  CHECK(other.code() == DC_E_SHAPE);
  CHECK(other.sentence() == "'t' has 2 dimensions and 6 elements (layout 'tile', t.xml:4), the array has 1 of 5 elements");
}

TEST_CASE("a flat array with strides is refused, because the ends of its rows are unknown") {
  OneVariable one;
  const std::int64_t six = 6;
  const std::ptrdiff_t stride = 8;
  CHECK(error_of([&] { one.check({one.data, DC_FLOAT32, 1, &six, &stride}); }).code() == DC_E_SHAPE);
}

TEST_CASE("a null pointer is refused unless there is nothing to copy") {
  OneVariable one;
  CHECK(error_of([&] { one.check({nullptr, DC_FLOAT32}); }).code() == DC_E_ARGUMENT);
  one.variable.shape.extents[1] = 0;
  one.variable.shape.bytes = 0;
  const std::int64_t none[2] = {2, 0};
  one.check({nullptr, DC_FLOAT32, 2, none});
}
