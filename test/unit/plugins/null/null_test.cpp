#include <catch2/catch.hpp>

#include "unit/plugins/loaded_plugin.hpp"

using namespace damaris::test;

namespace {

dc_step_t step_of(const std::vector<dc_dataset_t>& datasets) {
  dc_step_t step = {};
  step.complete = 1;
  step.dataset_count = datasets.size();
  step.datasets = datasets.data();
  return step;
}

dc_dataset_t dataset_of_bytes(std::uint64_t bytes) {
  dc_dataset_t dataset = {};
  dataset.bytes = bytes;
  return dataset;
}

}  // namespace

TEST_CASE("the null plugin's table carries the ABI it was built for and every callback") {
  const dc_plugin_t* table = load_plugin("null");
  REQUIRE(table->abi == DC_PLUGIN_ABI);
  REQUIRE(table->size_bytes == sizeof(dc_plugin_t));
  REQUIRE(std::string(table->name) == "null");
  REQUIRE((table->init && table->on_event && table->on_step && table->finalize));
}

TEST_CASE("the null plugin counts steps, events, datasets and bytes and reports them at the end") {
  FakeHost host;
  RunningPlugin plugin("null", host);
  REQUIRE(plugin.init_code == DC_OK);
  const std::vector<dc_dataset_t> datasets = {dataset_of_bytes(100), dataset_of_bytes(24)};
  REQUIRE(plugin.on_step(step_of(datasets)) == DC_OK);
  REQUIRE(plugin.on_step(step_of({})) == DC_OK);
  REQUIRE(plugin.on_event({}, step_of(datasets)) == DC_OK);
  REQUIRE(host.lines.empty());
  REQUIRE(plugin.finalize() == DC_OK);
  REQUIRE(host.lines.size() == 1);
  REQUIRE(host.lines[0] == std::pair<int, std::string>(2, "null: 2 steps, 1 events, 2 datasets, 124 bytes"));
  REQUIRE(host.files.empty());
}

TEST_CASE("report-every logs a line every given number of steps") {
  FakeHost host(Settings{{"report-every", "2"}});
  RunningPlugin plugin("null", host);
  for (int i = 0; i < 5; ++i) REQUIRE(plugin.on_step(step_of({})) == DC_OK);
  REQUIRE(host.lines.size() == 2);
  REQUIRE(host.lines[1].second == "null: 4 steps, 0 events, 0 datasets, 0 bytes");
}

TEST_CASE("the null plugin refuses an unknown setting and a value that is not a number, with the remedy") {
  FakeHost unknown(Settings{{"report-evry", "2"}});
  REQUIRE(RunningPlugin("null", unknown).init_code == DC_E_CONFIG);
  REQUIRE(unknown.failure == "report-evry=\"2\" is not possible; the null plugin knows only report-every");
  for (const char* value : {"", "x", "2x", "-1", "99999999999999999999"}) {
    FakeHost host(Settings{{"report-every", value}});
    REQUIRE(RunningPlugin("null", host).init_code == DC_E_CONFIG);
    REQUIRE(host.failure ==
            "report-every=\"" + std::string(value) + "\" is not possible; give a whole number of steps, 0 for no report");
  }
}

TEST_CASE("two instances of one plugin keep their counts apart") {
  FakeHost first_host, second_host;
  RunningPlugin first("null", first_host), second("null", second_host);
  REQUIRE(first.on_step(step_of({})) == DC_OK);
  REQUIRE(first.finalize() == DC_OK);
  REQUIRE(second.finalize() == DC_OK);
  REQUIRE(first_host.lines[0].second == "null: 1 steps, 0 events, 0 datasets, 0 bytes");
  REQUIRE(second_host.lines[0].second == "null: 0 steps, 0 events, 0 datasets, 0 bytes");
}
