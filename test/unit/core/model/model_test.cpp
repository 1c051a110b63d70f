#include "core/model/model.hpp"

#include <catch2/catch.hpp>

#include "core/model/names.hpp"
#include "support/errors.hpp"
#include "unit/core/model/example_model.hpp"

using namespace damaris::model;
using Catch::Matchers::Contains;
using damaris::test::error_of;
using damaris::test::example_model;

TEST_CASE("a variable is found by its path, and by its bare name where that is unique") {
  const Model model = example_model();
  const VariableNames variables(model);
  const FrameNames names(model);
  REQUIRE(variables.find("air/t") == 0);
  REQUIRE(variables.find("sea/t") == 1);
  REQUIRE(variables.find("t") == -1);
  REQUIRE(variables.find("salt") == 2);
  REQUIRE(variables.find("sea/salt") == 2);
  REQUIRE(variables.find("body") == 3);
  REQUIRE(variables.find("Salt") == -1);
  REQUIRE(names.layout("list") == 1);
  REQUIRE(names.event("quiet") == 1);
  REQUIRE(names.parameter("nj") == 1);
  REQUIRE(names.parameter("none") == -1);
}

TEST_CASE("a path wins over an equal bare name") {
  Model model = example_model();
  model.variables = {damaris::test::variable(0, "sea/", "t", 0), damaris::test::variable(1, "", "t", 0)};
  REQUIRE(VariableNames(model).find("t") == 1);
}

TEST_CASE("a computed parameter follows the ones it uses") {
  const Model model = example_model();
  auto values = initial_parameters(model);
  REQUIRE(values == std::vector<std::int64_t>{8, 4, 16});
  values[0] = 10;
  update_parameters(model, values);
  REQUIRE(values == std::vector<std::int64_t>{10, 4, 20});
}

TEST_CASE("a computed parameter outside its type is an error and changes nothing") {
  Model model = example_model();
  model.parameters[2].type = DC_INT8;
  std::vector<std::int64_t> values = {100, 4, 16};
  const auto error = error_of([&] { update_parameters(model, values); });
  REQUIRE(error.code() == DC_E_ARGUMENT);
  REQUIRE(error.sentence() == "storm.xml:3:5: parameter 'n2' = '2*ni': 200 is outside the range of int8");
  REQUIRE(values == std::vector<std::int64_t>{100, 4, 16});
  values[0] = INT64_MAX;
  REQUIRE_THAT(error_of([&] { update_parameters(model, values); }).sentence(), Contains("the product does not fit into 64 bits"));
}

TEST_CASE("the bytes of a step count every enabled variable once") {
  const Model model = example_model();
  REQUIRE(step_bytes(model, initial_parameters(model)) == 2 * 10 * 4 * 4 + 32);
}

TEST_CASE("rule 5: global scope and a single file are what needs MPI, and the reason names the place") {
  Model model = example_model();
  REQUIRE_FALSE(needs_mpi(model));
  model.plugins[0].settings.emplace_back("files", "single");
  REQUIRE(mpi_reason(model) ==
          "storm.xml:30:2: files=\"single\" writes one file from several servers, with parallel HDF5 over MPI");
  REQUIRE(refusal_without_mpi(model) == mpi_reason(model) + "; start with dc_mpi_initialize, or say files=\"per-server\"");
  model.plugins.clear();
  model.events[0].actions[0].scope = DC_SCOPE_GLOBAL;
  REQUIRE(mpi_reason(model) == "storm.xml:20:4: event 'snapshot' has scope=\"global\", for which the servers agree over MPI");
  REQUIRE(needs_mpi(model));
}

TEST_CASE("types know their sizes, names and ranges") {
  REQUIRE(type_bytes(DC_INT8) == 1);
  REQUIRE(type_bytes(DC_UINT16) == 2);
  REQUIRE(type_bytes(DC_FLOAT32) == 4);
  REQUIRE(type_bytes(DC_FLOAT64) == 8);
  REQUIRE(type_bytes(DC_COMPOUND) == 0);
  REQUIRE(std::string(type_name(DC_FLOAT32)) == "real32");
  REQUIRE(type_text(DC_FLOAT32) == "real32 (real, float)");
  REQUIRE(type_text(DC_INT32) == "int32");
  REQUIRE(lowest(DC_INT16) == -32768);
  REQUIRE(highest(DC_UINT32) == 4294967295);
  REQUIRE(lowest(DC_UINT64) == 0);
  REQUIRE(highest(DC_UINT64) == INT64_MAX);
}
