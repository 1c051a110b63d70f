#include <catch2/catch.hpp>

#include "unit/config/parse_text.hpp"

using namespace damaris::model;
using damaris::test::model_of;

namespace {

Action action(const std::string& attributes) {
  return model_of("<event name='e' action='f' using='a.so' " + attributes + "/>").events.at(0).actions.at(0);
}

// The value of a setting, or "(none)".
std::string setting(const Plugin& plugin, const std::string& key) {
  for (const auto& [name, value] : plugin.settings)
    if (name == key) return value;
  return "(none)";
}

}  // namespace

TEST_CASE("rule 3: the scopes are core, node and global; node is the default") {
  REQUIRE(action("scope='core'").scope == DC_SCOPE_CORE);
  REQUIRE(action("scope='node'").scope == DC_SCOPE_NODE);
  REQUIRE(action("scope='global'").scope == DC_SCOPE_GLOBAL);
  REQUIRE(action("").scope == DC_SCOPE_NODE);
  REQUIRE_FALSE(action("").on_root);
  REQUIRE(action("on='root'").on_root);
}

TEST_CASE("elements of one name are one event with several actions in their order") {
  const Model model = model_of(
      "<event name='a' action='f' using='x.so'/><event name='b'/><event name='a' plugin='p' scope='core'/><plugin name='p' "
      "using='p.so'><setting key='k' value=''/></plugin>");
  REQUIRE(model.events.size() == 2);
  REQUIRE(model.events[0].id == 0);
  REQUIRE(model.events[0].actions.size() == 2);
  REQUIRE(model.events[0].actions[0].function == "f");
  REQUIRE(model.events[0].actions[0].library == "x.so");
  REQUIRE(model.events[0].actions[0].plugin == -1);
  REQUIRE(model.events[0].actions[1].plugin == 0);
  REQUIRE(model.events[0].actions[1].scope == DC_SCOPE_CORE);
  REQUIRE(model.events[1].id == 1);
  REQUIRE(model.events[1].actions.empty());
  REQUIRE(setting(model.plugins.at(0), "k").empty());
}

TEST_CASE("the older name library means using") {
  REQUIRE(model_of("<event name='e' action='f' library='a.so'/>").events[0].actions[0].library == "a.so");
  REQUIRE(model_of("<plugin name='p' library='a.so'/>").plugins[0].library == "a.so");
}

TEST_CASE("the storage element becomes the plugin hdf5 with all its attributes as settings, defaults too") {
  const Model model = model_of("<storage><hdf5 basename='out/storm' filters='shuffle, deflate:3'/></storage>");
  REQUIRE(model.plugins.size() == 1);
  const Plugin& hdf5 = model.plugins[0];
  REQUIRE(hdf5.name == "hdf5");
  REQUIRE(hdf5.library == "damaris_hdf5.so");
  REQUIRE(hdf5.storage);
  REQUIRE(setting(hdf5, "basename") == "out/storm");
  REQUIRE(setting(hdf5, "filters") == "shuffle, deflate:3");
  REQUIRE(setting(hdf5, "files") == "per-server");
  REQUIRE(setting(hdf5, "exists") == "auto");
}

TEST_CASE("without basename the files are named after the simulation") {
  const Model model = model_of("<storage><hdf5/></storage>", " name='storm'");
  REQUIRE(setting(model.plugins.at(0), "basename") == "storm");
}

TEST_CASE("storage comes first among the plugins, wherever it is in the XML") {
  const Model model = model_of(
      "<plugin name='p' using='p.so'/><storage><plugin name='own' using='own.so'/><hdf5/></storage><event name='e' plugin='p'/>");
  REQUIRE(model.plugins.size() == 3);
  REQUIRE(model.plugins[0].name == "own");
  REQUIRE(model.plugins[0].storage);
  REQUIRE(model.plugins[1].name == "hdf5");
  REQUIRE(model.plugins[2].name == "p");
  REQUIRE_FALSE(model.plugins[2].storage);
  REQUIRE(model.events[0].actions[0].plugin == 2);
}

TEST_CASE(
    "rule 5: a global scope is accepted, as only the start of the job knows whether there is MPI, and reported as needing it") {
  REQUIRE(needs_mpi(model_of("<event name='e' action='f' using='a.so' scope='global'/>")));
  REQUIRE_FALSE(needs_mpi(model_of("<event name='e' action='f' using='a.so'/>")));
}
