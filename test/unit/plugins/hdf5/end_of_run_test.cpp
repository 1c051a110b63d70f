// Whether a run has ended, what verify makes of one that has not, and that by default nothing of such a run is overwritten.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <memory>

#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::manifest::Holder;
using damaris::manifest::Verification;

namespace {

Verification look(const TempFolder& folder) { return damaris::hdf5::verify(folder.file("storm"), {}); }

bool has_file(const TempFolder& folder, int step) {
  return std::filesystem::exists(folder.file("storm.node7.s0.i" + std::to_string(step) + ".h5"));
}

// Stores the steps 0 to 2 in a process that ends without a word.
void be_killed(const TempFolder& folder, const damaris::test::Settings& settings = {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    ServerOf server(folder, 0, 1, settings);
    for (const int step : {0, 1, 2})
      if (server.store(step) != DC_OK) ::_exit(1);
    ::_exit(0);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

// Stores step 0 and ends.
void run_to_end(const TempFolder& folder, const damaris::test::Settings& settings = {}) {
  ServerOf server(folder, 0, 1, settings);
  INFO(server.host.failure);
  REQUIRE(server.plugin->init_code == DC_OK);
  REQUIRE(server.store(0) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
}

}  // namespace

TEST_CASE("by default a run overwrites one that has ended, and refuses one that was killed, naming both remedies") {
  const TempFolder folder;
  be_killed(folder);
  {
    const ServerOf refused(folder, 0, 1);
    CHECK(refused.plugin->init_code == DC_E_NO_OUTPUT);
    CHECK(refused.host.failure ==
          "'" + folder.file("storm") +
              "' has an earlier run that has not ended: it was killed, or lost clients; to keep what it has stored, "
              "go on with exists=\"append\", or choose another basename; exists=\"overwrite\" removes it");
  }
  for (const int step : {0, 1, 2}) CHECK(has_file(folder, step));
  SECTION("append goes on, and what has then ended is overwritten") {
    run_to_end(folder, {{"exists", "append"}});
    CHECK(look(folder).has_ended);
    run_to_end(folder);
    CHECK(look(folder).steps == 1);
  }
  SECTION("overwrite removes it") {
    run_to_end(folder, {{"exists", "overwrite"}});
    for (const int step : {1, 2}) CHECK_FALSE(has_file(folder, step));
  }
}

TEST_CASE("a run whose clients were lost, or never attached, has not ended") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(0) == DC_OK);
    server.host.lose(3, 0);
    REQUIRE(server.plugin->finalize() == DC_OK);
  }
  const Verification found = look(folder);
  CHECK_FALSE(found.has_ended);
  CHECK(found.why_not_ended == "the run has lost clients");
  CHECK(ServerOf(folder, 0, 1).plugin->init_code == DC_E_NO_OUTPUT);
}

TEST_CASE("a run of independent servers has ended when all that joined it have") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1, {}, false), second(folder, 1, 2, {}, false);
    for (ServerOf* server : {&first, &second}) REQUIRE(server->store(0) == DC_OK);
    REQUIRE(first.plugin->finalize() == DC_OK);
    const Verification found = look(folder);
    CHECK_FALSE(found.has_ended);
    CHECK(found.why_not_ended == "some of its servers have not ended");
    CHECK(found.holder == Holder::alive);
    REQUIRE(second.plugin->finalize() == DC_OK);
  }
  CHECK(look(folder).has_ended);
  CHECK(look(folder).holder == Holder::none);
}

TEST_CASE("a recovery stores what a killed run has left; the run has not ended all the same") {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ServerOf server(folder, 0, 1, {}, true, "run1");
    ::_exit(server.store(0) == DC_OK ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  {
    ServerOf recovery(folder, 0, 1, {{"exists", "recover"}}, false, "run1");
    INFO(recovery.host.failure);
    REQUIRE(recovery.store(1) == DC_OK);
    REQUIRE(recovery.plugin->finalize() == DC_OK);
  }
  CHECK(look(folder).steps == 2);
  CHECK(look(folder).partial.empty());
  CHECK_FALSE(look(folder).has_ended);
  CHECK(ServerOf(folder, 0, 1).plugin->init_code == DC_E_NO_OUTPUT);
}

TEST_CASE("a file that a run is writing is unknown only when the run is over") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(0) == DC_OK);
    folder.write(".storm.node7.s0.i1.h5.tmp.1.abcdef", "");
    CHECK(look(folder).holder == Holder::alive);
    CHECK(look(folder).not_recorded.empty());
    REQUIRE(server.plugin->finalize() == DC_OK);
  }
  CHECK(look(folder).holder == Holder::none);
  CHECK(look(folder).not_recorded.size() == 1);
}

// Its line comes first, so that a kill between the two is noticed.
TEST_CASE("a view whose first version a run has announced is missing only when the run is over") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(0) == DC_OK);
    while (server.plugin->on_idle() == DC_AGAIN) {
    }
    REQUIRE(std::filesystem::remove(folder.file("storm.h5")));
    CHECK(look(folder).holder == Holder::alive);
    CHECK(look(folder).damaged.empty());
    REQUIRE(server.plugin->finalize() == DC_OK);
  }
  CHECK(look(folder).damaged.empty());
  REQUIRE(std::filesystem::remove(folder.file("storm.h5")));
  CHECK(look(folder).damaged.size() == 1);
}

TEST_CASE("a run that stores nothing says nothing of the one before it") {
  const TempFolder folder;
  run_to_end(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    const ServerOf killed(folder, 0, 1);
    ::_exit(killed.plugin->init_code == DC_OK ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK(look(folder).has_ended);
  run_to_end(folder);
}

TEST_CASE("connected servers have ended when each of them has") {
  const TempFolder folder;
  ServerOf first(folder, 0, 2), second(folder, 1, 2);
  for (ServerOf* server : {&first, &second}) {
    REQUIRE(server->store(0) == DC_OK);
    CHECK_FALSE(look(folder).has_ended);
    REQUIRE(server->plugin->finalize() == DC_OK);
  }
  CHECK(look(folder).has_ended);
}
