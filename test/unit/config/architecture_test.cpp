#include <catch2/catch.hpp>

#include "core/base/json.hpp"
#include "core/model/json.hpp"
#include "unit/config/parse_text.hpp"

using namespace damaris::model;
using damaris::Json;
using damaris::test::error_inside;
using damaris::test::model_of;

namespace {

Architecture architecture(const std::string& inside) {
  return model_of("<architecture>" + inside + "</architecture>").architecture;
}

Json compiled(const Model& model) { return Json::parse(to_json(model)).at("architecture"); }

}  // namespace

TEST_CASE("rule 12: the schema's defaults are those of the model, element by element") {
  const Model empty = model_of("");
  const Model all =
      model_of("<architecture><dedicated/><clients/><server/><buffer/><lanes/><placement/><plugins/><global/></architecture>");
  REQUIRE(compiled(all) == compiled(empty));
  REQUIRE(compiled(empty) == compiled(Model{}));
  REQUIRE(empty.simulation == "simulation");
  REQUIRE(empty.log.level == "warning");
  REQUIRE(model_of("<log/>").log.level == "warning");
}

TEST_CASE("every attribute of the architecture arrives in the model") {
  const Architecture a = architecture(
      "<dedicated cores='2'/><clients count='6' threads='4'/><server start='manual' attach-timeout='5' finalize-timeout='1h' "
      "read-timeout='2min'/>"
      "<buffer size='1.5GiB' split='weighted' weights='3, 1' timeout='250ms' stale='discard'/><lanes events='4096'/><placement "
      "pin='false'/>"
      "<plugins policy='fail-step'/><global timeout='2min'/>");
  REQUIRE(a.dedicated_cores == 2);
  REQUIRE(a.clients == 6);
  REQUIRE(a.threads == 4);
  REQUIRE_FALSE(a.start_server);
  REQUIRE(a.attach_timeout_ms == 5000);
  REQUIRE(a.finalize_timeout_ms == 3600000);
  REQUIRE(a.read_timeout_ms == 120000);
  REQUIRE(a.buffer_bytes == 1610612736u);
  REQUIRE(a.weights == std::vector<std::int64_t>{3, 1});
  REQUIRE(a.buffer_timeout_ms == 250);
  REQUIRE(a.stale == StalePolicy::discard);
  REQUIRE(a.lane_messages == 4096);
  REQUIRE_FALSE(a.pin);
  REQUIRE(a.plugin_policy == PluginPolicy::fail_step);
  REQUIRE(a.global_timeout_ms == 120000);
}

TEST_CASE("lanes are rounded up to a power of two") {
  REQUIRE(architecture("<lanes events='1000'/>").lane_messages == 1024);
  REQUIRE(architecture("<lanes events='1025'/>").lane_messages == 2048);
  REQUIRE(architecture("<lanes events='16'/>").lane_messages == 16);
}

TEST_CASE("zero dedicated cores and a buffer that never waits are allowed") {
  REQUIRE(architecture("<dedicated cores='0'/>").dedicated_cores == 0);
  REQUIRE(architecture("<buffer timeout='0'/>").buffer_timeout_ms == 0);
}

TEST_CASE("the log has a level and a file") {
  const Model model = model_of("<log level='debug' file='storm.log'/>");
  REQUIRE(model.log.level == "debug");
  REQUIRE(model.log.file == "storm.log");
}

TEST_CASE("a time-out that does not fit into 32 bits of milliseconds is refused") {
  REQUIRE(error_inside("<architecture><buffer timeout='577h'/></architecture>") ==
          "x.xml:1:44: timeout=\"577h\": it must be from 0 ms to 24 days (576h)");
}
