// A manifest that others have written to before, or write to as well: earlier runs, other servers.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/base/json.hpp"
#include "manifest/manifest.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/restart/restart_reader.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/plugins/hdf5/read_file.hpp"
#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::hdf5::QuietErrors;
using damaris::manifest::StepEntry;

TEST_CASE("a run that stores nothing leaves the earlier run unchanged") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1);
    for (const int step : {1, 2}) REQUIRE(first.store(step) == DC_OK);
    REQUIRE(first.plugin->finalize() == DC_OK);
  }
  const std::string before = content(folder.file("storm.g1.node7.s0.jsonl"));
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  };
  const auto files = count();
  const bool connected = GENERATE(true, false);
  const char* const exists = GENERATE("overwrite", "append");
  {
    ServerOf idle(folder, 0, 1, {{"exists", exists}}, connected);
    REQUIRE(idle.plugin->init_code == DC_OK);
    REQUIRE(idle.plugin->finalize() == DC_OK);
  }
  CHECK(content(folder.file("storm.g1.node7.s0.jsonl")) == before);
  {
    ServerOf empty(folder, 0, 1, {{"exists", exists}}, connected);
    Blocks nothing(0);
    REQUIRE(empty.plugin->on_step(nothing.view()) == DC_OK);
    std::filesystem::create_directory(folder.file("storm.node7.s0.i5.h5"));
    REQUIRE(empty.store(5) == DC_E_IO);
    std::filesystem::remove(folder.file("storm.node7.s0.i5.h5"));
    REQUIRE(empty.plugin->finalize() == DC_OK);
  }
  CHECK(steps_in(folder.file("storm")).at(1).files.size() == 1);
  CHECK(steps_in(folder.file("storm")).at(2).files.size() == 1);
  CHECK(count() == files + 1);  // the log, which says what was not stored
}

TEST_CASE("the master file shows the run that has replaced an earlier one, even if it was updated before that run's first file") {
  const TempFolder folder;
  for (const std::int64_t first : {2, 7}) {
    ServerOf server(folder, 0, 1);
    const auto be_idle = [&] {
      while (server.plugin->on_idle() == DC_AGAIN) {
      }
    };
    Blocks nothing(0);
    REQUIRE(server.plugin->on_step(nothing.view()) == DC_OK);
    be_idle();
    for (const std::int64_t step : {first, first + 1}) REQUIRE(server.store(step) == DC_OK);
    be_idle();
    REQUIRE(server.plugin->finalize() == DC_OK);
    CHECK(ReadFile(folder.file("storm.h5")).attribute<std::int64_t>("/", "shown_until").at(0) == first + 1);
  }
}

TEST_CASE(
    "steps that a later run could not store before its first file are reported, and an earlier run's values do not hide them") {
  const TempFolder folder;
  const QuietErrors quiet;
  const char* const exists = GENERATE("append", "overwrite");
  const bool appends = exists == std::string("append");
  const auto run = [&](const char* how, const std::vector<int>& lost, const std::vector<int>& stored) {
    ServerOf server(folder, 0, 1, {{"exists", how}});
    for (const int step : lost) {
      const std::string file = folder.file("storm.node7.s0.i" + std::to_string(step) + ".h5"), aside = file + ".aside";
      const bool was_there = std::filesystem::exists(file);
      if (was_there) std::filesystem::rename(file, aside);
      std::filesystem::create_directory(file);
      REQUIRE(server.store(step) == DC_E_IO);
      std::filesystem::remove(file);
      if (was_there) std::filesystem::rename(aside, file);
    }
    for (const int step : stored) REQUIRE(server.store(step) == DC_OK);
    REQUIRE(server.plugin->finalize() == DC_OK);
  };
  const auto verified = [&] { return damaris::hdf5::verify(folder.file("storm"), {}); };
  const auto partial = [&] {
    std::vector<std::int64_t> steps;
    for (const auto& one : verified().partial) steps.push_back(one.step);
    return steps;
  };
  const auto last_step = [&] { return damaris::hdf5::RestartReader(folder.file("storm")).last_step(nullptr); };
  using Numbers = std::vector<std::int64_t>;
  const char* const kOfEarlier = "; its values are those of an earlier run";
  run("overwrite", {}, {1, 2, 3});
  SECTION("the first step") {
    run(exists, {1}, {2});
    CHECK(partial() == Numbers{1});
    CHECK_THAT(verified().partial.at(0).what, Catch::Contains(".i1.h5 is not stored: "));
    CHECK((verified().partial.at(0).what.find(kOfEarlier) != std::string::npos) == appends);
    CHECK(verified().steps == 2);
    CHECK(last_step() == 2);
    run("append", {}, {3});  // what the run before has stored of it still stands there
    CHECK(partial() == Numbers{1});
    run("append", {}, {1});
    CHECK(partial().empty());
  }
  SECTION("all of them") {
    run(exists, {1, 2}, {});
    CHECK(partial() == Numbers{1, 2});
    CHECK_THAT(verified().partial.at(1).what, Catch::Contains(".i2.h5 is not stored: ") && Catch::EndsWith(kOfEarlier));
    CHECK(verified().damaged.empty());
    CHECK(verified().steps == 3);
    CHECK(last_step() == 3);
    run("append", {}, {4});  // goes on from the first run
    CHECK(partial().empty());
  }
  SECTION("one that no earlier run has") {
    run("append", {5}, {6});
    CHECK(partial() == Numbers{5});
    CHECK_THAT(verified().partial.at(0).what, !Catch::Contains("earlier run"));
    CHECK(verified().steps == 5);
  }
}

TEST_CASE("a run does not begin in the manifest of a running one, in another job or the same") {
  const TempFolder folder;
  const bool connected = GENERATE(true, false);
  ServerOf first(folder, 0, 1, {}, connected);
  REQUIRE(first.plugin->init_code == DC_OK);
  FakeHost other(ServerOf::with_basename({}, folder.file("storm")), {});
  other.place(0, 1);
  if (!connected) other.cut_off();
  other.set_job("4711");
  const RunningPlugin plugin("hdf5", other);
  CHECK(plugin.init_code == DC_E_NO_OUTPUT);
  CHECK_THAT(other.failure, Catch::Contains("storm.g1.node7.s0.jsonl' is the log of another run, which is still running"));
}

TEST_CASE("a run that is overwritten repeatedly leaves one log, with the rights that the umask gives") {
  const TempFolder folder;
  const mode_t mask = ::umask(027);
  for (int run = 0; run < 4; ++run) {
    ServerOf server(folder, 0, 1, {}, run % 2 == 0);
    REQUIRE(server.store(1) == DC_OK);
    REQUIRE(server.plugin->finalize() == DC_OK);
    CHECK(damaris::manifest::find_logs(folder.path(), "storm").size() == 1);
  }
  struct stat info = {};
  REQUIRE(::stat(folder.file("storm.g4.node7.s0.jsonl").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0640);
  ::umask(mask);
  CHECK(steps_in(folder.file("storm")).size() == 1);
}

TEST_CASE("exists=append keeps the earlier run and replaces it from the first step stored") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1);
    for (const int step : {1, 2, 3}) REQUIRE(first.store(step) == DC_OK);
  }
  std::ofstream(folder.file("storm.g1.node7.s0.jsonl"), std::ios::app) << "{\"n\":5, \"cut in the mid";
  ServerOf second(folder, 0, 1, {{"exists", "append"}});
  REQUIRE(second.store(2, 100) == DC_OK);
  const auto steps = steps_in(folder.file("storm"));
  REQUIRE(steps.size() == 2);
  CHECK(steps.at(1).files[0].datasets[0].raw_bytes == 16);
  CHECK(steps.at(2).files[0].datasets[0].raw_bytes == 400);
}

TEST_CASE("exists=refuse refuses the manifest of an earlier run, alone and where several share it") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1);
    first.store(1);
  }
  std::filesystem::remove(folder.file("storm.node7.s0.i1.h5"));
  for (const bool connected : {true, false}) {
    ServerOf second(folder, 0, 1, {{"exists", "refuse"}}, connected);
    CHECK(second.plugin->init_code == DC_E_NO_OUTPUT);
    CHECK_THAT(second.host.failure, Catch::Contains("storm' has an earlier run and exists="));
  }
}

TEST_CASE("servers that cannot reach each other add to one manifest, and a later run replaces it") {
  const TempFolder folder;
  for (int run = 0; run < 2; ++run) {
    ServerOf first(folder, 0, 3, {}, false), second(folder, 1, 3, {}, false);
    REQUIRE(second.store(run) == DC_OK);
    REQUIRE(first.store(run) == DC_OK);
    REQUIRE(second.plugin->finalize() == DC_OK);
    ServerOf late(folder, 2, 3, {}, false);
    REQUIRE(late.store(run) == DC_OK);
    const auto steps = steps_in(folder.file("storm"));
    REQUIRE(steps.size() == 1);
    CHECK(steps.at(run).servers == std::vector<int>{0, 1, 2});
  }
}

TEST_CASE(
    "the number of a process in place, however large, counts neither lines that can be read nor data that the disk must hold") {
  const TempFolder folder;
  const int most = std::numeric_limits<int>::max();
  {
    ServerOf lone(folder, most - 1, most, {}, false);
    REQUIRE(lone.store(0) == DC_OK);
    CHECK(std::none_of(lone.host.lines.begin(), lone.host.lines.end(), [](const auto& line) { return line.first <= 1; }));
    REQUIRE(lone.plugin->finalize() == DC_OK);
  }
  damaris::manifest::Manifest reader(folder.file("storm"));
  reader.read_on();
  CHECK(reader.damaged().empty());
  CHECK(reader.steps().at(0).complete);
}

TEST_CASE("a process that comes when the others of its job have ended logs that it begins a later run, before it replaces theirs") {
  const TempFolder folder;
  const bool same_job = GENERATE(true, false);
  const char* const exists = GENERATE("overwrite", "append");
  const auto says_so = [&](const ServerOf& server) {
    return std::count_if(server.host.lines.begin(), server.host.lines.end(), [&](const auto& line) {
      return line.first == 1 && line.second.find("this is a later run") != std::string::npos;
    });
  };
  {
    ServerOf first(folder, 0, 3, {{"exists", exists}}, false);
    REQUIRE(first.store(0) == DC_OK);
    CHECK(says_so(first) == 0);
  }
  const ServerOf late(folder, 2, 3, {{"exists", exists}}, false, "", same_job ? "local" : "another");
  REQUIRE(late.plugin->init_code == DC_OK);
  CHECK(std::filesystem::exists(folder.file("storm.node7.s0.i0.h5")));
  CHECK(says_so(late) == (same_job ? 1 : 0));
}

TEST_CASE("a file in a view's place that no run has created is not replaced: the run does not begin, and the file stays") {
  const TempFolder folder;
  const char* const name = GENERATE("storm.h5", "storm.xmf");
  const char* const existing = GENERATE("overwrite", "append", "refuse");
  INFO(name << " " << existing);
  folder.write(name, "<Xdmf>my own</Xdmf>");
  {
    ServerOf server(folder, 0, 1, {{"exists", existing}});
    CHECK(server.plugin->init_code == DC_E_NO_OUTPUT);
    CHECK_THAT(server.host.failure,
               Catch::Contains(folder.file(name) + " is in the place of the view of the whole run, and it was not "
                                                   "written by Damaris; move it away"));
  }
  CHECK(content(folder.file(name)) == "<Xdmf>my own</Xdmf>");
  CHECK(damaris::manifest::find_logs(folder.path(), "storm").empty());
}

TEST_CASE("the views of an earlier run are no obstacle, even without any array") {
  const TempFolder folder;
  for (const std::size_t values : {4, 0}) {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.plugin->init_code == DC_OK);
    REQUIRE(server.store(1, values) == DC_OK);
    REQUIRE(server.plugin->finalize() == DC_OK);
    CHECK(std::filesystem::exists(folder.file("storm.xmf")));
  }
  ServerOf third(folder, 0, 1, {{"exists", "append"}});
  CHECK(third.plugin->init_code == DC_OK);
}
