// A process that comes back into its own run while others of it go on: what it had stored before stays, and counts as it should.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;

namespace {

constexpr int kProcesses = 2;

void store_all(ServerOf& process, const std::vector<int>& steps) {
  for (const int step : steps) REQUIRE(process.store(step) == DC_OK);
}

// In a process that ends without a word.
void store_and_be_killed(const std::function<std::unique_ptr<ServerOf>()>& start, const std::vector<int>& steps) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto server = start();
    const bool stored = std::all_of(steps.begin(), steps.end(), [&](int step) { return server->store(step) == DC_OK; });
    ::_exit(stored ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

// Process 0 of a run goes on; process 1 stores the steps 0 to 2 and ends, comes back, and may be killed.
class Run {
 public:
  explicit Run(const char* exists = "overwrite")
      : settings_({{"exists", exists}}), first_(folder, 0, kProcesses, settings_, false) {
    REQUIRE(first_.plugin->init_code == DC_OK);
  }

  void first_stores(std::int64_t step) { REQUIRE(first_.store(step) == DC_OK); }
  // Process 1 between its start and its end.
  void second(const std::function<void(ServerOf&)>& work) const {
    ServerOf process(folder, 1, kProcesses, settings_, false);
    INFO(process.host.failure);
    REQUIRE(process.plugin->init_code == DC_OK);
    work(process);
    REQUIRE(process.plugin->finalize() == DC_OK);
  }
  void second_stores(const std::vector<int>& steps) const {
    second([&](ServerOf& process) { store_all(process, steps); });
  }
  void killed_second_stores(const std::vector<int>& steps) const {
    store_and_be_killed([&] { return std::make_unique<ServerOf>(folder, 1, kProcesses, settings_, false); }, steps);
  }
  bool has(int process, int step) const {
    return std::filesystem::exists(folder.file("storm.node7.s" + std::to_string(process) + ".i" + std::to_string(step) + ".h5"));
  }
  void end() { REQUIRE(first_.plugin->finalize() == DC_OK); }
  damaris::manifest::Verification verified() const { return damaris::hdf5::verify(folder.file("storm"), {}); }
  std::vector<std::int64_t> partial() const {
    std::vector<std::int64_t> steps;
    for (const auto& one : verified().partial) steps.push_back(one.step);
    return steps;
  }

  TempFolder folder;

 private:
  Settings settings_;
  ServerOf first_;
};

long told(const ServerOf& process, int level, const std::string& text) {
  return std::count_if(process.host.lines.begin(), process.host.lines.end(),
                       [&](const auto& line) { return line.first == level && line.second.find(text) != std::string::npos; });
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a process that comes back into its run removes nothing that the run has stored, and reports nothing of an earlier one") {
  Run run(GENERATE("auto", "overwrite", "append", "refuse"));
  for (const int step : {0, 1, 2}) run.first_stores(step);
  SECTION("after it ended") { run.second_stores({0, 1, 2}); }
  SECTION("after it was killed") { run.killed_second_stores({0, 1, 2}); }
  run.second([&](ServerOf& process) {
    CHECK(told(process, 1, "of an earlier run") == 0);
    store_all(process, {3});
  });
  run.first_stores(3);
  run.end();
  for (const int step : {0, 1, 2, 3}) CHECK(run.has(1, step));
  CHECK(run.verified().damaged.empty());
  CHECK(run.verified().not_recorded.empty());
  CHECK(run.partial().empty());
}

TEST_CASE("a process that comes back before it had stored anything still removes what an earlier run has left") {
  const TempFolder folder;
  {
    ServerOf earlier(folder, 1, kProcesses, {}, false);
    for (const int step : {0, 7}) REQUIRE(earlier.store(step) == DC_OK);
  }
  ServerOf first(folder, 0, kProcesses, {}, false);
  { ServerOf idle(folder, 1, kProcesses, {}, false); }
  CHECK(std::filesystem::exists(folder.file("storm.node7.s1.i7.h5")));
  ServerOf back(folder, 1, kProcesses, {}, false);
  CHECK(told(back, 1, "2 files of an earlier run are in") == 1);
  REQUIRE(back.store(0) == DC_OK);
  CHECK(std::filesystem::exists(folder.file("storm.node7.s1.i0.h5")));
  CHECK_FALSE(std::filesystem::exists(folder.file("storm.node7.s1.i7.h5")));
}

TEST_CASE(
    "a run with fewer processes than the one it overwrites removes the files of those that are not there any more, at its end") {
  const TempFolder folder;
  const auto there = [&](const std::string& name) { return std::filesystem::exists(folder.file(name)); };
  {
    std::vector<std::unique_ptr<ServerOf>> earlier;
    for (int process = 0; process < 3; ++process)
      earlier.push_back(std::make_unique<ServerOf>(folder, process, 3, Settings{}, false));
    for (const auto& process : earlier) store_all(*process, {0, 7});
    ServerOf elsewhere(folder, 2, 3, {}, false, "", "local", "node8");
    store_all(elsewhere, {8});
    for (const auto& process : earlier) REQUIRE(process->plugin->finalize() == DC_OK);
    REQUIRE(elsewhere.plugin->finalize() == DC_OK);
  }
  const bool is_damaged = GENERATE(false, true);
  for (const char* stranger : {"storm.node7.s9.i0.h5", "storms.node7.s2.i0.h5"}) folder.write(stranger, "not of that run");
  ServerOf first(folder, 0, 2, {}, false), second(folder, 1, 2, {}, false);
  REQUIRE(first.store(0) == DC_OK);
  REQUIRE(second.store(0) == DC_OK);
  for (const char* gone : {"storm.node7.s0.i7.h5", "storm.node7.s1.i7.h5"}) CHECK_FALSE(there(gone));
  if (is_damaged) {
    const std::string log = folder.file("storm.g2.node7.s0.jsonl");
    const auto at = static_cast<std::streamoff>(content(log).find("\"servers\":[0]"));
    std::fstream(log, std::ios::in | std::ios::out).seekp(at) << 'x';
  }
  REQUIRE(first.plugin->finalize() == DC_OK);
  CHECK(there("storm.node7.s2.i0.h5"));
  REQUIRE(second.plugin->finalize() == DC_OK);
  for (const char* gone : {"storm.node7.s2.i0.h5", "storm.node7.s2.i7.h5", "storm.node8.s2.i8.h5"})
    CHECK(there(gone) == is_damaged);
  for (const char* own : {"storm.node7.s0.i0.h5", "storm.node7.s1.i0.h5"}) CHECK(there(own));
  for (const char* stranger : {"storm.node7.s9.i0.h5", "storms.node7.s2.i0.h5"}) CHECK(there(stranger));
}

TEST_CASE("an overwriting run removes none of the other files that a log names") {
  const TempFolder folder;
  {
    HandLog forged(folder.file("storm"), {1, "node9", 4}, 0);
    for (const char* name : {"thesis.tex", ".bashrc", "storm.ini", "storm.inp.h5", "storm.old.s1.i1.h5"}) {
      folder.write(name, "mine");
      damaris::manifest::StepEntry step;
      step.files.emplace_back().name = name;
      step.files.back().datasets.emplace_back();
      forged.add(step);
    }
    forged.ends();
  }
  ServerOf server(folder, 0, 1, {{"exists", "overwrite"}}, false);
  REQUIRE(server.store(1) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
  for (const char* name : {"thesis.tex", ".bashrc", "storm.ini", "storm.inp.h5"}) CHECK(content(folder.file(name)) == "mine");
  CHECK_FALSE(std::filesystem::exists(folder.file("storm.old.s1.i1.h5")));
}

TEST_CASE("a process that comes back into a run with a damaged log removes no file") {
  Run run;
  run.first_stores(0);
  run.second_stores({0, 1, 2});
  const char* const log = "storm.g1.node7.s1.jsonl";
  std::string lines = content(run.folder.file(log));
  lines[lines.find("\"servers\":[1]")] = 'x';
  run.folder.write(log, lines);
  run.second_stores({3});
  for (const int step : {0, 1, 2, 3}) CHECK(run.has(1, step));
}

TEST_CASE(
    "steps that a process has lost between its death and its return are partial, and those that it had ended before are not") {
  const bool killed = GENERATE(true, false);
  Run run(GENERATE("overwrite", "append"));
  for (const int step : {0, 1, 2, 3, 4, 5}) run.first_stores(step);
  killed ? run.killed_second_stores({0, 1, 2}) : run.second_stores({0, 1, 2});
  run.second_stores({5});
  run.end();
  CHECK(run.partial() == (killed ? Steps{3, 4} : Steps{}));
}

TEST_CASE("the recovery of a server's data into its run is not a return: it leaves no gap, nor does a later return") {
  const TempFolder folder;
  const auto server_on = [&](const char* node, const char* exists) {
    auto server = std::make_unique<ServerOf>(folder, 0, 1, Settings{{"exists", exists}}, false, node, "local", node);
    INFO(server->host.failure);
    REQUIRE(server->plugin->init_code == DC_OK);
    return server;
  };
  const auto first = server_on("node7", "append");
  store_all(*first, {0, 1, 2, 3, 4, 5});
  store_and_be_killed([&] { return server_on("node8", "append"); }, {0, 1});
  store_all(*server_on("node8", "recover"), {4});  // of the steps between it has nothing
  store_all(*server_on("node8", "append"), {5});
  REQUIRE(first->plugin->finalize() == DC_OK);
  for (const auto& [number, step] : steps_in(folder.file("storm"))) {
    INFO(number);
    CHECK(step.complete);
    CHECK(step.files.size() == (number == 2 || number == 3 ? 1 : 2));
  }
}

namespace {

std::unique_ptr<ServerOf> server_with(const TempFolder& folder, const char* node, const char* regions,
                                      const char* exists = "append") {
  return std::make_unique<ServerOf>(folder, 0, 1, Settings{{"exists", exists}}, false, regions, "local", node);
}

int init_of_recovery(const TempFolder& folder, const char* node, const char* regions) {
  return server_with(folder, node, regions, "recover")->plugin->init_code;
}

}  // namespace

TEST_CASE(
    "a recovery adds to the run of its server, whether that began the run, joined it or came back, whatever has begun since, and "
    "to no other's") {
  const TempFolder folder;
  store_all(*server_with(folder, "node8", "of an earlier run"), {0});
  const auto first = server_with(folder, "node7", "first");
  store_all(*first, {1});
  store_and_be_killed([&] { return server_with(folder, "node8", "joined"); }, {1});
  CHECK(init_of_recovery(folder, "node8", "joined") == DC_OK);
  store_and_be_killed([&] { return server_with(folder, "node8", "back"); }, {2});
  const bool first_lives = GENERATE(true, false);
  if (!first_lives) REQUIRE(first->plugin->finalize() == DC_OK);
  for (const char* its : {"joined", "back"}) CHECK(init_of_recovery(folder, "node8", its) == DC_OK);
  if (!first_lives) CHECK(init_of_recovery(folder, "node7", "first") == DC_OK);
  CHECK(init_of_recovery(folder, "node8", "of an earlier run") == DC_OK);
  for (const char* others : {"of nobody", ""}) CHECK(init_of_recovery(folder, "node8", others) == DC_E_NO_OUTPUT);
  CHECK(damaris::hdf5::verify(folder.file("storm"), {}).regions ==
        std::set<std::string>{"of an earlier run", "first", "joined", "back"});
}

TEST_CASE("a run that has stored nothing keeps the log of a server that was killed, whose data may have to be recovered") {
  const TempFolder folder;
  store_all(*server_with(folder, "node7", "of an earlier run"), {0});
  {
    const auto first = server_with(folder, "node7", "first");
    store_and_be_killed([&] { return server_with(folder, "node8", "joined"); }, {});
    REQUIRE(first->plugin->finalize() == DC_OK);
  }
  CHECK(init_of_recovery(folder, "node8", "joined") == DC_OK);
}

TEST_CASE("of a step that a process stores again after it came back the last version counts, and the log says so") {
  Run run(GENERATE("overwrite", "append"));
  for (const int step : {1, 2, 3}) run.first_stores(step);
  GENERATE(true, false) ? run.killed_second_stores({1, 2}) : run.second_stores({1, 2});
  const char* const sentence =
      "step 2 is stored once more: storm.node7.s1.i2.h5, which this server had stored in this run before it came";
  run.second([&](ServerOf& process) {
    REQUIRE(process.store(2, 100) == DC_OK);
    store_all(process, {3});
    CHECK(told(process, 1, sentence) == 1);
    CHECK(told(process, 1, "is stored once more") == 1);
  });
  run.end();
  const auto steps = steps_in(run.folder.file("storm"));
  CHECK(steps.at(2).files.at(1).datasets.at(0).raw_bytes == 400);
  CHECK_THAT(steps.at(2).warnings.at(0), Catch::StartsWith(sentence));
  CHECK(run.verified().damaged.empty());
  CHECK(run.partial().empty());
}

TEST_CASE("with exists=refuse a process that comes back cannot store a step again, and the old file stays") {
  Run run("refuse");
  run.first_stores(2);
  run.second_stores({2});
  run.second([&](ServerOf& process) {
    CHECK(process.store(2, 100) == DC_E_IO);
    CHECK_THAT(process.host.failure, Catch::Contains("storm.node7.s1.i2.h5 is not stored"));
  });
  run.end();
  CHECK(run.verified().damaged.empty());
  CHECK(run.partial() == Steps{2});
}

TEST_CASE("data of an earlier run that another process of the run has replaced are reported as replaced when they are read") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, kProcesses, {}, false), second(folder, 1, kProcesses, {}, false);
    for (const int step : {5, 6}) {
      REQUIRE(first.store(step) == DC_OK);
      REQUIRE(second.store(step) == DC_OK);
    }
  }
  const Settings goes_on = {{"exists", "append"}, {"restart", folder.file("storm")}};
  ServerOf first(folder, 0, kProcesses, goes_on, false), second(folder, 1, kProcesses, goes_on, false);
  REQUIRE(first.store(6, 100) == DC_OK);
  const dc_variable_info_t variable = variable_info(0, "fields/v", DC_FLOAT32, 1);
  const auto code = [&](std::int64_t step, std::int32_t source) {
    Question<float> question(variable, step, {4}, source);
    return second.plugin->read(question.read);
  };
  const char* const cause =
      "; this run has stored steps from 6 on under the same basename: read before any of its processes writes";
  for (const int source : {0, 1}) CHECK(code(5, source) == DC_OK);
  CHECK(code(6, 1) == DC_OK);  // its own part is still there
  CHECK(code(6, 0) == DC_E_IO);
  CHECK_THAT(second.host.failure, Catch::Contains("storm.node7.s0.i6.h5 has ") && Catch::Contains(cause));
  std::filesystem::resize_file(folder.file("storm.node7.s0.i5.h5"), 10);  // nobody has replaced it
  CHECK(code(5, 0) == DC_E_IO);
  CHECK_THAT(second.host.failure, !Catch::Contains("this run has stored"));
}
