// What a manifest says of its runs: steps joined from several logs, runs that replace others, damage.
#include "manifest/manifest.hpp"

#include <catch2/catch.hpp>
#include <damaris/error.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "support/temp_folder.hpp"
#include "unit/manifest/hand_log.hpp"

namespace damaris::manifest {
namespace {

using test::HandLog;
using test::TempFolder;
using Numbers = std::vector<std::int64_t>;

Manifest read(const TempFolder& folder) {
  Manifest manifest(folder.file("storm"));
  manifest.read_on();
  return manifest;
}

Numbers steps_of(const Manifest& manifest) {
  Numbers numbers;
  for (const auto& [number, step] : manifest.steps()) numbers.push_back(number);
  return numbers;
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

DatasetEntry dataset(const std::string& variable) {
  DatasetEntry one;
  one.path = one.variable = variable;
  one.box = Box{2, {1, 2}, {4, 6}};
  one.has_position = true;
  one.global = {8, 8};
  one.raw_bytes = 96;
  one.stored_bytes = 40;
  one.checksum = 0xfedcba98;
  one.min = -1.5;
  return one;
}

StepEntry full_step() {
  StepEntry step;
  step.step = 7;
  step.time = 3.5;
  step.absent = {1, 4};
  step.missing = {2};
  step.complete = false;
  step.never_attached = 1;
  step.skipped = {"theta"};
  step.dropped = step.reduced = step.recovered = true;
  step.waits = 3;
  step.spilled_bytes = 9;
  step.failures = {"a \"quoted\",\"files\":[ failure"};
  step.warnings = {"a warning"};
  step.retries = 2;
  step.waited_s = 0.25;
  step.stored_s = 0.5;
  step.memory_bytes = 77;
  step.at = "2025-03-01T12:00:00.123Z";
  FileEntry file;
  file.name = "storm.n.s0.i7.h5";
  file.bytes = 123;
  file.checksum = 0x01234567;
  file.datasets = {dataset("theta"), dataset("u")};
  file.datasets[1].max = 2.5;
  file.datasets[1].start = Numbers{0, 1};
  step.files = {file};
  return step;
}

}  // namespace

TEST_CASE("a step has the same contents after it was recorded and read, described by its record or by an earlier one") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  StepEntry step = full_step();
  for (const int number : {7, 8, 9}) {
    step.step = number;
    step.files[0].bytes = static_cast<std::uint64_t>(number);
    log.add(step);
  }
  CHECK(content(log.path()).find(R"("as":2)") != std::string::npos);
  Manifest manifest = read(folder);
  CHECK(manifest.steps().at(8).total.datasets == 2);
  for (const int number : {7, 8, 9}) {
    StepEntry wanted = step;
    wanted.step = number;
    wanted.servers = {0};
    wanted.files[0].bytes = static_cast<std::uint64_t>(number);
    CHECK(text_of(to_json(manifest.with_files(number))) == text_of(to_json(wanted)));
  }
  const StepEntry of_one = manifest.with_files(8, "u");
  REQUIRE(of_one.files[0].datasets.size() == 1);
  CHECK(of_one.files[0].datasets[0].max == 2.5);
}

TEST_CASE("the records of several servers about one step become one entry, ordered by server, with each failure once") {
  const TempFolder folder;
  HandLog second(folder.file("storm"), {1, "a", 1}, 2), first(folder.file("storm"), {1, "b", 0}, 2);
  for (HandLog* log : {&second, &first}) {
    StepEntry step;
    step.step = 1;
    step.failures = {"the same"};
    step.files.emplace_back().name = "storm.i1.h5";
    step.files.back().server = log == &second ? 1 : 0;
    step.files.back().datasets = {dataset(log == &second ? "u" : "v")};
    log->add(step);
  }
  const StepEntry step = read(folder).with_files(1);
  CHECK(step.servers == std::vector<int>{0, 1});
  CHECK(step.failures == std::vector<std::string>{"the same"});
  REQUIRE(step.files.size() == 1);  // they wrote it together
  CHECK(step.files[0].server == 0);
  CHECK(step.files[0].datasets.size() == 2);
}

TEST_CASE("of two records of one server about one step the later one's file counts") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 0);
  for (const std::uint64_t bytes : {10, 20}) {
    StepEntry step = full_step();
    step.files[0].bytes = bytes;
    log.add(step);
  }
  const StepEntry step = read(folder).with_files(7);
  REQUIRE(step.files.size() == 1);
  CHECK(step.files[0].bytes == 20);
}

TEST_CASE("a later run replaces earlier ones from its first stored step on, or all of them; what stores nothing replaces nothing") {
  const TempFolder folder;
  HandLog first(folder.file("storm"), {1, "n", 0}, 1);
  for (const int step : {1, 2, 3, 4}) first.stores(step);
  const bool all = GENERATE(true, false);
  HandLog later(folder.file("storm"), {2, "n", 0}, 1, all);
  later.passes(0, {"it was not stored"});
  CHECK(steps_of(read(folder)) == Numbers{1, 2, 3, 4});
  CHECK(read(folder).not_stored().at(0) == std::vector<std::string>{"it was not stored"});
  later.stores(3);
  CHECK(steps_of(read(folder)) == (all ? Numbers{0, 3} : Numbers{1, 2, 3}));
  CHECK(read(folder).replaced() ==
        (all ? std::set<std::string>{"storm.n.s0.i1.h5", "storm.n.s0.i2.h5", "storm.n.s0.i3.h5", "storm.n.s0.i4.h5"}
             : std::set<std::string>{"storm.n.s0.i3.h5", "storm.n.s0.i4.h5"}));
  Manifest before(folder.file("storm"), 2);
  before.read_on();
  CHECK(steps_of(before) == Numbers{1, 2, 3, 4});
}

TEST_CASE("what the variables are called does not matter to the records of a log") {
  const std::string line = text_of(run_record(
      [] {
        RunEntry run;
        run.declared = std::make_shared<const Declarations>(Declarations{{"a", ""}, {"end", ""}, {"files", ""}, {"view", ""}});
        return run;
      }(),
      {1, "n", 0}));
  const std::string numbered = R"({"n":1,)" + line.substr(1);
  CHECK(kind_of(numbered) == "run");
  CHECK(head_of(numbered) == numbered);
}

TEST_CASE("neither a log without a record nor a torn record of an earlier run says anything of the last one that has steps") {
  const TempFolder folder;
  HandLog first(folder.file("storm"), {1, "n", 0}, 1);
  first.stores(1);
  first.ends();
  HandLog second(folder.file("storm"), {2, "n", 0}, 1);
  second.stores(2);
  second.ends();
  std::ofstream(first.path(), std::ios::app) << R"({"n":4,"st)";
  folder.write("storm.g3.n.s0.jsonl", "");
  const Manifest manifest = read(folder);
  CHECK(manifest.has_ended());
  CHECK(manifest.cut_off().empty());
  CHECK(steps_of(manifest) == Numbers{1, 2});
}

TEST_CASE("reading goes on where it ended, with new logs and without a line that is being written") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 2);
  Manifest manifest = read(folder);
  CHECK_FALSE(manifest.read_on());
  log.stores(1);
  CHECK(manifest.read_on());
  HandLog other(folder.file("storm"), {1, "n", 1}, 2);
  other.stores(1);
  std::ofstream(other.path(), std::ios::app) << R"({"n":3,"step":2)";
  CHECK(manifest.read_on());
  CHECK(manifest.steps().at(1).complete);
  CHECK(manifest.cut_off() == std::vector<std::string>{other.path()});
}

TEST_CASE("a log that another has replaced is read from its beginning") {
  const TempFolder folder;
  std::optional<HandLog> log;
  log.emplace(folder.file("storm"), LogName{1, "n", 0}, 1);
  log->stores(1);
  const std::string path = log->path();
  Manifest manifest = read(folder);
  log.reset();
  std::filesystem::rename(path, folder.file("aside"));
  log.emplace(folder.file("storm"), LogName{1, "n", 0}, 1);
  log->stores(2);
  CHECK(manifest.read_on());
  CHECK(steps_of(manifest) == Numbers{2});
}

TEST_CASE("damage is named with log, line and cause; what its server delivered since is unknown, what it had said is in doubt") {
  const TempFolder folder;
  std::string path;
  {
    HandLog log(folder.file("storm"), {1, "n", 0}, 1);
    for (const int step : {1, 2, 3}) log.stores(step);
    path = log.path();
  }
  const std::string text = content(path);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  const auto write = [&](const std::string& all) { std::ofstream(path, std::ios::trunc) << all; };
  SECTION("a changed line") {
    lines[2][10] ^= 1;
    write(lines[0] + lines[1] + lines[2] + lines[3]);
    const Manifest manifest = read(folder);
    CHECK(manifest.damaged() == std::vector<std::string>{path + ":3: this line is damaged: its checksum does not match"});
    CHECK(steps_of(manifest) == Numbers{1, 3});
    CHECK(manifest.damage_since(1) == manifest.damaged()[0]);
    CHECK(manifest.damage_since(3).empty());
  }
  SECTION("a line that is missing") {
    write(lines[0] + lines[1] + lines[3]);
    CHECK(read(folder).damaged() == std::vector<std::string>{path + ":3: this line does not follow the previous one: lines are "
                                                                    "missing, repeated or exchanged"});
  }
  SECTION("the first line: the servers of the run are unknown") {
    lines[0][10] ^= 1;
    write(lines[0] + lines[1] + lines[2] + lines[3]);
    CHECK_FALSE(read(folder).steps().at(1).complete);
    CHECK_FALSE(read(folder).has_ended());
  }
  SECTION("a log in the place of another") {
    std::filesystem::rename(path, folder.file("storm.g1.n.s1.jsonl"));
    CHECK_THAT(read(folder).damaged().at(0), Catch::Contains("storm.g1.n.s1.jsonl:1: it is the log of server 0 of n"));
    CHECK(read(folder).steps().empty());
  }
  SECTION("a record that describes the datasets of others") {
    lines[1][lines[1].find("\"facts\"") + 2] ^= 1;
    write(lines[0] + lines[1] + lines[2] + lines[3]);
    CHECK_THROWS_WITH(read(folder).with_files(3),
                      Catch::Contains("record 2, which describes the datasets of a step, is missing or damaged"));
  }
}

TEST_CASE("of many damaged lines the first ones are reported, and the rest are counted") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  std::ofstream more(log.path(), std::ios::app);
  for (int i = 0; i < 250; ++i) more << std::string(1000, 'x') << "\n";
  more.close();
  const Manifest manifest = read(folder);
  CHECK(manifest.damaged().size() == 100);
  CHECK(manifest.more_damaged() == 150);
}

TEST_CASE("the log of a newer version is refused") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  log.add(Json{{"run", "b"}, {"format_version", 5}});
  CHECK_THROWS_WITH(read(folder), Catch::Contains(log.path() + ":2: the manifest has version 5"));
}

TEST_CASE("of the views those that show the most count, and steps recorded since follow them") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  log.stores(1);
  log.add(view_record({"storm.h5", 10, 1}, 1));
  CHECK_FALSE(read(folder).views_follow());
  log.stores(2);
  CHECK(read(folder).views_follow());
  log.add(view_record({"storm.h5", 20, 2}, 2));
  log.add(view_record({"storm.h5", 20, 3}, 2));  // of another server that ended at the same time
  const Manifest manifest = read(folder);
  CHECK_FALSE(manifest.views_follow());
  CHECK(manifest.views().at("storm.h5").same.size() == 2);
  CHECK(manifest.views().at("storm.h5").earlier == std::vector<std::uint32_t>{1});
}

}  // namespace damaris::manifest
