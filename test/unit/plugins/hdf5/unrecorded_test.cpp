// What a server of several has stored and server 0 has not recorded yet: which server records it, and when.
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <fstream>

#include "core/base/json.hpp"
#include "manifest/unrecorded.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::manifest::StepEntry;
using damaris::manifest::steps_of_last_run;
using damaris::manifest::UnrecordedSteps;

TEST_CASE("the list of what a server has stored is kept until that is recorded, and removed at the end of the run") {
  const TempFolder folder;
  const std::string kept = folder.file(".storm.s1.unrecorded");
  {
    ServerOf keeper(folder, 0, 2), other(folder, 1, 2);
    REQUIRE(keeper.store(1) == DC_OK);
    REQUIRE(other.store(1) == DC_OK);
    CHECK(content(kept).find("storm.node7.s1.i1.h5") != std::string::npos);
    for (const auto& [to, text] : other.host.sent) REQUIRE(keeper.plugin->on_message(1, text) == DC_OK);
    CHECK(other.plugin->finalize() == DC_OK);
    CHECK(std::filesystem::exists(kept));  // the other one may still be at it
    CHECK(keeper.plugin->finalize() == DC_OK);
  }
  CHECK_FALSE(std::filesystem::exists(kept));
  CHECK_FALSE(std::filesystem::exists(folder.file(".storm.s0.unrecorded")));
}

TEST_CASE("recovery finds the steps of its server that no line names, and ignores a truncated one") {
  const TempFolder folder;
  const damaris::manifest::FileNames names(folder.file("storm"), "node7", 1);
  const std::string record = folder.file("storm.jsonl"), kept = folder.file(".storm.s1.unrecorded");
  StepEntry told, untold;
  told.step = 3;
  told.servers = {0, 1};
  untold.step = 4;
  untold.servers = {1};
  std::ofstream(kept) << "of an earlier run\n";
  UnrecordedSteps unrecorded(names, {"", 1}, "");
  for (const StepEntry& step : {told, untold}) unrecorded.add(to_json(step));
  std::ofstream(kept, std::ios::app) << to_json(untold).dump().substr(0, 20);
  std::ofstream(record) << to_json(damaris::manifest::RunEntry{"id", "storm", 2, "", false, ""}).dump() << "\n"
                        << to_json(told).dump() << "\n";
  const auto missing = unrecorded.missing_in(steps_of_last_run(record));
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].step == 4);

  // A link is somebody else's.
  std::filesystem::rename(kept, folder.file("planted"));
  std::filesystem::create_symlink(folder.file("planted"), kept);
  CHECK_FALSE(unrecorded.exists());
  CHECK(unrecorded.missing_in(steps_of_last_run(record)).empty());
}

TEST_CASE("a step that an earlier run in the same manifest has recorded does not count as recorded by this run") {
  const TempFolder folder;
  const damaris::manifest::FileNames names(folder.file("storm"), "node7", 1);
  StepEntry old, fresh;
  old.step = fresh.step = 5;
  old.servers = {0, 1};
  fresh.servers = {1};
  UnrecordedSteps unrecorded(names, {"", 1}, "");
  unrecorded.add(to_json(fresh));
  std::ofstream(folder.file("storm.jsonl")) << to_json(damaris::manifest::RunEntry{"run1", "storm", 2, "", false, ""}).dump()
                                            << "\n"
                                            << to_json(old).dump() << "\n"
                                            << to_json(damaris::manifest::RunEntry{"run2", "storm", 2, "", false, ""}).dump()
                                            << "\n";
  CHECK(unrecorded.missing_in(steps_of_last_run(folder.file("storm.jsonl"))).size() == 1);
}

TEST_CASE("the line of a step for which there is no space leaves no part, and is added with the next one") {
  const TempFolder folder;
  const damaris::manifest::FileNames names(folder.file("storm"), "node7", 1);
  StepEntry step;
  step.step = 5;
  step.servers = {1};
  UnrecordedSteps unrecorded(names, {"", 1}, "");
  unrecorded.add(to_json(step));
  const auto size = std::filesystem::file_size(folder.file(".storm.s1.unrecorded"));
  struct rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = size + 20;  // ends in the middle of the next line
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  step.step = 6;
  std::string failure;
  try {
    unrecorded.add(to_json(step));
  } catch (const damaris::Failure& caught) {
    failure = caught.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  CHECK_THAT(failure, Catch::Contains("add an unrecorded step"));
  CHECK(std::filesystem::file_size(folder.file(".storm.s1.unrecorded")) == size);
  step.step = 7;
  unrecorded.add(to_json(step));
  const auto missing = unrecorded.missing_in({});
  REQUIRE(missing.size() == 3);
  CHECK(missing[1].step == 6);
  CHECK(missing[2].step == 7);
}

TEST_CASE("a server says that it owes records until the manifest has them, or its list of what the manifest may lack") {
  const TempFolder folder;
  const auto refuse = [&](const std::string& file) { std::filesystem::create_directory(folder.file(file)); };
  const auto allow = [&](const std::string& file) { std::filesystem::remove(folder.file(file)); };
  ServerOf other(folder, 1, 2, {}, true, "run1");
  SECTION("the list of one that does not keep the manifest") {
    refuse(".storm.s1.unrecorded");
    CHECK(other.store(1) == DC_UNRECORDED);
    CHECK(other.plugin->on_passed(4) == DC_UNRECORDED);
    allow(".storm.s1.unrecorded");
    CHECK(other.store(5) == DC_OK);
    CHECK(other.plugin->on_passed(8) == DC_OK);
  }
  SECTION("the list of the one that keeps it, as long as another server has not reported the step") {
    ServerOf keeper(folder, 0, 2, {}, true, "run1");
    refuse(".storm.s0.unrecorded");
    CHECK(keeper.store(1) == DC_UNRECORDED);
    CHECK(keeper.plugin->on_passed(4) == DC_UNRECORDED);
    REQUIRE(other.store(1) == DC_OK);
    REQUIRE(keeper.plugin->on_message(1, other.host.sent.back().second) == DC_OK);
    CHECK(keeper.plugin->on_passed(5) == DC_OK);
    allow(".storm.s0.unrecorded");
  }
  SECTION("the manifest") {
    ServerOf alone(folder, 0, 1, {}, true, "run1");
    std::filesystem::remove(folder.file("storm.jsonl"));
    refuse("storm.jsonl");
    CHECK(alone.store(1) == DC_E_IO);
    CHECK(alone.plugin->on_passed(4) == DC_E_IO);
    allow("storm.jsonl");
    CHECK(alone.plugin->on_passed(5) == DC_OK);
    CHECK(steps_in(folder.file("storm.jsonl")).count(1) == 1);
  }
}

TEST_CASE("steps of a server that died before it could report them are recorded at the end of the run") {
  const TempFolder folder;
  ServerOf keeper(folder, 0, 2, {}, true, "run1");
  {
    ServerOf other(folder, 1, 2, {}, true, "run1");
    for (const int step : {1, 2}) REQUIRE(other.store(step) == DC_OK);
    REQUIRE(keeper.plugin->on_message(1, other.host.sent.at(1).second) == DC_OK);  // after the greeting; of step 2 it hears nothing
  }
  REQUIRE(keeper.store(1) == DC_OK);
  REQUIRE(keeper.plugin->finalize() == DC_OK);
  const auto steps = steps_in(folder.file("storm.jsonl"));
  REQUIRE(steps.size() == 2);
  CHECK(steps.at(1).files.size() == 2);
  CHECK(steps.at(2).servers == std::vector<int>{1});
  CHECK(steps.at(2).files.size() == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file(".storm.s1.unrecorded")));
}

namespace {

// A run of three servers that was killed: no line tells of the steps 1 and 2 that server 1 has stored, none of step 1 of server 2.
void leave_untold(const TempFolder& folder) {
  std::ofstream(folder.file("storm.jsonl")) << to_json(damaris::manifest::RunEntry{"run1", "storm", 3, "", false, "run1"}).dump()
                                            << "\n";
  ServerOf second(folder, 1, 3, {}, true, "run1"), third(folder, 2, 3, {}, true, "run1");
  for (const int step : {1, 2}) REQUIRE(second.store(step) == DC_OK);
  REQUIRE(third.store(1) == DC_OK);
}

}  // namespace

TEST_CASE("the recovery of any server records what all servers of the run have stored") {
  const TempFolder folder;
  leave_untold(folder);
  {
    ServerOf recovery(folder, 0, 3, {{"exists", "recover"}}, false, "run1");
    REQUIRE(recovery.plugin->init_code == DC_OK);
    REQUIRE(recovery.plugin->finalize() == DC_OK);
  }
  const auto steps = steps_in(folder.file("storm.jsonl"));
  REQUIRE(steps.size() == 2);
  CHECK(steps.at(1).servers == std::vector<int>{1, 2});
  CHECK(steps.at(1).files.size() == 2);
  CHECK(steps.at(2).servers == std::vector<int>{1});
  for (const char* kept : {".storm.s1.unrecorded", ".storm.s2.unrecorded"}) CHECK_FALSE(std::filesystem::exists(folder.file(kept)));
}

TEST_CASE("the views that a recovery writes are not complete, as the run has not come to its end") {
  const TempFolder folder;
  const auto complete_after = [&](const char* exists, std::int64_t step) {
    ServerOf server(folder, 0, 1, {{"exists", exists}}, false, "run1");
    REQUIRE(server.plugin->init_code == DC_OK);
    REQUIRE(server.store(step) == DC_OK);
    REQUIRE(server.plugin->finalize() == DC_OK);
    return ReadFile(folder.file("storm.h5")).attribute<std::int32_t>("/", "complete")[0];
  };
  CHECK(complete_after("overwrite", 0) == 1);
  CHECK(complete_after("recover", 1) == 0);
}

TEST_CASE("a run that continues in the manifest of a killed one first records what that run had stored, as that run's") {
  const TempFolder folder;
  leave_untold(folder);
  const std::string other_run = GENERATE("run1", "run0");
  if (other_run == "run0")  // by no means this manifest's
    folder.write(".storm.s1.unrecorded", "{\"unrecorded\":\"run0\"}\n" + content(folder.file(".storm.s1.unrecorded")));
  ServerOf keeper(folder, 0, 2, {{"exists", "append"}}, true, "run2"), other(folder, 1, 2, {{"exists", "append"}}, true, "run2");
  REQUIRE(keeper.plugin->init_code == DC_OK);
  REQUIRE(other.store(2) == DC_OK);
  const auto steps = steps_in(folder.file("storm.jsonl"));
  CHECK(steps.at(1).servers == (other_run == "run1" ? std::vector<int>{1, 2} : std::vector<int>{2}));
  CHECK(steps.count(2) == (other_run == "run1" ? 1 : 0));
  const std::string record = content(folder.file("storm.jsonl"));
  CHECK(record.find("\"step\"") < record.find("run2"));
}

TEST_CASE("a line that was added twice counts once, even after the line of a recovery") {
  StepEntry line;
  line.step = 1;
  line.servers = {1};
  line.reporters = {{"", 1}};
  line.waits = 3;
  damaris::manifest::FileEntry file;
  file.name = "storm.h5";
  file.server = 1;
  if (GENERATE(true, false)) file.checksum = 7;  // else several servers wrote it
  for (const char* path : {"v/0", "v/1"}) file.datasets.emplace_back().path = path;
  line.files = {file};
  const bool behind_recovery = GENERATE(true, false);
  StepEntry merged = line;
  merged.recovered = behind_recovery;
  merge(merged, StepEntry(line));
  REQUIRE(merged.files.size() == 1);
  CHECK(merged.files[0].datasets.size() == 2);
  CHECK(merged.waits == 3);
}
