// The manifest as text: what is written is what is read, and damage is named.
#include <damaris/error.hpp>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/json.hpp"
#include "manifest/reader.hpp"

namespace damaris::manifest {
namespace {

class RecordText {
 public:
  RecordText() {
    std::string pattern = (std::filesystem::temp_directory_path() / "damaris_record.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RecordText() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "run.jsonl"; }
  void add(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  void add_line(const Json& line) const { add(line.dump() + "\n"); }

 private:
  std::filesystem::path folder_;
};

StepEntry step(std::int64_t number, int server) {
  StepEntry record;
  record.step = number;
  record.time = 0.5 * static_cast<double>(number);
  record.servers = {server};
  record.at = "2025-03-01T12:00:00.123Z";
  record.stored_s = 0.25 * (server + 1);
  FileEntry file;
  file.name = "run.host.s" + std::to_string(server) + ".i" + std::to_string(number) + ".h5";
  file.server = server;
  file.bytes = 5000;
  file.checksum = 0x89abcdef;
  DatasetEntry dataset;
  dataset.path = dataset.variable = "fields/theta";
  dataset.has_position = true;
  dataset.box.ndims = 2;
  dataset.box.low = {0, 8L * server};
  dataset.box.high = {4, 8L * server + 8};
  dataset.global = {4, 16};
  dataset.raw_bytes = dataset.stored_bytes = 128;
  dataset.checksum = 0x00000001;
  dataset.min = -1.5;
  dataset.max = 0.1;
  dataset.reduce = "absolute:0.1, deflate";
  dataset.largest_error = 0.09;
  file.datasets.push_back(dataset);
  dataset.path = "fields/particles/3.1";
  dataset.variable = "fields/particles";
  dataset.has_position = false;
  dataset.box.low = {0, 0};
  dataset.global.clear();
  dataset.source = 3;
  dataset.block = 1;
  dataset.min.reset(), dataset.max.reset(), dataset.largest_error.reset();
  dataset.scale = 0.5, dataset.offset = 300;
  file.datasets.push_back(dataset);
  dataset.path = "fields/particles";
  dataset.source = -1;
  dataset.block = 0;
  dataset.sources = {3, 3, 4, 5};  // as many as the first dimension has elements
  dataset.blocks = {0, 1, 0, 0};
  file.datasets.push_back(dataset);
  record.files = {file};
  record.absent = {server + 4};
  return record;
}

const Json kRun = to_json(RunEntry{"a", "storm", 2, "local", false, ""});

TEST_CASE("a line of the manifest has the same contents after it was written and read") {
  StepEntry record = step(7, 1);
  record.complete = false;
  record.missing = {2};
  record.never_attached = 3;
  record.skipped = {"fields/u"};
  record.failures = {"no room"};
  record.waited_s = 1.5;
  const Json line = to_json(record);
  CHECK(to_json(step_from_json(line)) == line);
  CHECK(line["files"][0]["checksum"] == "crc32:89abcdef");
  CHECK(line["raw_bytes"] == 384);
  CHECK(line["stored_bytes"] == 5000);
  CHECK(line["never_attached"] == 3);
}

TEST_CASE("the part that a server wrote of a shared dataset keeps its position in it when the manifest is read") {
  StepEntry record = step(7, 1);
  record.files[0].datasets[0].start = {0, 8};
  const Json line = to_json(record);
  CHECK(line["files"][0]["datasets"][0]["start"] == Json{0, 8});
  CHECK(line["files"][0]["datasets"][1].count("start") == 0);
  CHECK(step_from_json(line).files[0].datasets[0].start == std::vector<std::int64_t>{0, 8});
}

TEST_CASE("lines of several servers about one step become one entry, ordered by server") {
  const RecordText file;
  for (const Json& line : {kRun, to_json(step(3, 1)), to_json(step(4, 0)), to_json(step(3, 0))}) file.add_line(line);
  Reader reader(file.path());
  REQUIRE(reader.read_on());
  REQUIRE(reader.steps().size() == 2);
  const StepEntry& third = reader.steps().at(3);
  REQUIRE(third.files.size() == 2);
  CHECK(third.files[0].server == 0);
  CHECK(third.servers == std::vector<int>{0, 1});
  CHECK(third.absent == std::vector<std::int32_t>{4, 5});
  CHECK(third.stored_s == 0.5);
}

TEST_CASE("a failure that several servers report in the same words is listed once") {
  StepEntry record = step(3, 0), same = record, other = record;
  record.failures = same.failures = {"no room"};
  other.failures = {"no folder"};
  merge(record, std::move(same));
  merge(record, std::move(other));
  CHECK(record.failures == std::vector<std::string>{"no room", "no folder"});
}

TEST_CASE("a file that an independent server names again is that of its later line, and the files of others stay") {
  StepEntry first = step(3, 1), again = first, other = step(3, 0), none = first;
  for (StepEntry* one : {&first, &again, &none}) one->reporters = {{"node7", 1}};
  other.reporters = {{"node8", 0}};
  first.recovered = GENERATE(false, true);  // it may come back after a recovery
  again.files[0].checksum = 7;
  again.files[0].datasets.pop_back();
  none.files.clear();  // it could not be stored once more: the file of before is still there
  merge(first, std::move(other));
  merge(first, std::move(again));
  merge(first, std::move(none));
  REQUIRE(first.files.size() == 2);
  CHECK(first.files[0].datasets.size() == 3);
  CHECK(first.files[1].checksum == 7);
  CHECK(first.files[1].datasets.size() == 2);
}

TEST_CASE("a later run in the same manifest replaces what the earlier one stored from its first step on") {
  const RecordText file;
  file.add_line(kRun);
  for (int number : {1, 2, 3, 4}) file.add_line(to_json(step(number, 0)));
  file.add_line(kRun);
  file.add_line(to_json(step(3, 1)));
  Reader reader(file.path());
  reader.read_on();
  REQUIRE(reader.steps().size() == 3);
  CHECK(reader.steps().count(4) == 0);
  CHECK(reader.steps().at(3).servers == std::vector<int>{1});
  CHECK(reader.runs().size() == 2);
}

TEST_CASE("the step from which a run replaces the earlier one does not depend on which of its servers was first") {
  const RecordText file;
  file.add_line(kRun);
  for (int number : {0, 1, 2, 3, 4}) file.add_line(to_json(step(number, 0)));
  file.add_line(kRun);
  StepEntry nothing = step(0, 1);
  nothing.files.clear();
  const std::vector<StepEntry> ahead = {step(3, 0), step(4, 0)}, behind = {step(1, 1), step(3, 1)};
  const bool late = GENERATE(false, true);
  for (const StepEntry& record : late ? ahead : behind) file.add_line(to_json(record));
  file.add_line(to_json(nothing));
  for (const StepEntry& record : late ? behind : ahead) file.add_line(to_json(record));
  Reader reader(file.path());
  reader.read_on();
  std::vector<std::int64_t> steps;
  for (const auto& [number, record] : reader.steps()) steps.push_back(number);
  CHECK(steps == std::vector<std::int64_t>{0, 1, 3, 4});
  CHECK(reader.steps().at(0).servers == std::vector<int>{0});
  CHECK(reader.steps().at(0).files.size() == 1);
  CHECK(reader.steps().at(3).servers == std::vector<int>{0, 1});
  for (int number : {1, 2, 3, 4}) CHECK(reader.replaced().count(step(number, 0).files[0].name) == 1);
}

TEST_CASE("a manifest that another file has replaced is read from its beginning") {
  const RecordText file;
  Reader reader(file.path());
  file.add_line(kRun);
  for (int number : {1, 2}) file.add_line(to_json(step(number, 0)));
  reader.read_on();
  const bool renamed = GENERATE(true, false);
  std::ofstream(file.path() + (renamed ? ".new" : "")) << kRun.dump() << "\n" << to_json(step(7, 0)).dump() << "\n";
  if (renamed) std::filesystem::rename(file.path() + ".new", file.path());
  CHECK(reader.read_on());
  REQUIRE(reader.steps().size() == 1);
  CHECK(reader.steps().count(7) == 1);
  CHECK(reader.damaged().empty());
  CHECK_FALSE(reader.read_on());
}

TEST_CASE("reading a manifest continues where it ended, and a line that is being written is left for later") {
  const RecordText file;
  Reader reader(file.path());
  CHECK_FALSE(reader.read_on());
  file.add_line(kRun);
  const std::string line = to_json(step(1, 0)).dump();
  file.add(line.substr(0, 40));
  CHECK(reader.read_on());
  CHECK(reader.steps().empty());
  file.add(line.substr(40) + "\n");
  CHECK(reader.read_on());
  CHECK(reader.steps().size() == 1);
  CHECK_FALSE(reader.read_on());
}

TEST_CASE("damage in a manifest is named with file, line and cause") {
  const RecordText file;
  file.add_line(kRun);
  Json line = to_json(step(1, 0));
  std::string cause;
  SECTION("no JSON") {
    file.add("{\"step\": 1,,}\n");
    cause = "this line is damaged: it is not JSON";
  }
  SECTION("a key is missing") {
    line.erase("files");
    file.add_line(line);
    cause = "a step is damaged";
  }
  SECTION("a checksum") {
    line["files"][0]["checksum"] = "crc32:1234";
    file.add_line(line);
    cause = "'crc32:1234' is not a checksum";
  }
  SECTION("a file elsewhere") {
    line["files"][0]["name"] = "../other.h5";
    file.add_line(line);
    cause = "a file's name is '../other.h5'";
  }
  SECTION("position and extents") {
    line["files"][0]["datasets"][0]["position"] = {1};
    file.add_line(line);
    cause = "position and extents do not match";
  }
  SECTION("extents beyond all numbers") {
    line["files"][0]["datasets"][0]["extents"] = {std::int64_t{1} << 62, std::int64_t{1} << 62};
    file.add_line(line);
    cause = "position and extents do not match";
  }
  SECTION("a number of the wrong kind") {
    line["step"] = 1e300;
    file.add_line(line);
    cause = "does not fit";
  }
  SECTION("a run of more servers than there are machines") {
    Json run = kRun;
    run["servers"] = 2147483647;
    file.add_line(run);
    cause = "it names 2147483647 servers";
  }
  SECTION("a run of no servers") {
    Json run = kRun;
    run["servers"] = 0;
    file.add_line(run);
    cause = "it names 0 servers";
  }
  SECTION("a stack with fewer blocks than its first dimension") {
    line["files"][0]["datasets"][2]["sources"] = {1};
    line["files"][0]["datasets"][2]["blocks"] = {0};
    file.add_line(line);
    cause = "sources, blocks and extents do not match";
  }
  file.add_line(to_json(step(2, 0)));
  Reader reader(file.path());
  reader.read_on();
  REQUIRE(reader.damaged().size() == 1);
  CHECK_THAT(reader.damaged()[0], Catch::StartsWith(file.path() + ":2: ") && Catch::Contains(cause));
  CHECK(reader.steps().size() == 1);  // what stands behind it
}

TEST_CASE("if the servers of a run do not know each other, the number of servers is not a count, and may be any") {
  const RecordText file;
  Json run = to_json(RunEntry{"a", "storm", 1, "local", false, "", true, "node7", 1'000'000});
  run["servers"] = GENERATE(1'000'001, 2147483647, -2147483647 - 1);
  file.add_line(run);
  Json line = to_json(step(1, 1'000'000));
  line["host"] = "node7";
  file.add_line(line);
  Reader reader(file.path());
  reader.read_on();
  CHECK(reader.damaged().empty());
  CHECK(reader.runs().at(0).servers == 1);
  CHECK(reader.steps().at(1).complete);
  CHECK(outline_of(file.path()).servers == 1);
}

TEST_CASE(
    "a run's line that cannot be read begins another run: its steps do not belong to the run before, and are not known to be "
    "whole") {
  const RecordText file;
  auto add = [&, seal = Seal()](const Json& line, bool change = false) mutable {
    std::string text = sealed(text_of(line), seal);
    seal = seal_of(text);
    if (change) text.replace(text.find("storm"), 5, "st?rm");
    file.add(text + "\n");
  };
  Json run = kRun;
  run["servers"] = 1;
  run["replaces"] = "all";
  run["identity"] = "1";
  add(run);
  for (int number : {1, 2, 3}) add(to_json(step(number, 0)));
  SECTION("its bytes have changed") { add(run, true); }
  SECTION("what it says cannot be") {
    run["servers"] = 0;
    add(run);
  }
  StepEntry later = step(2, 0);
  later.files[0].bytes = 6000;
  add(to_json(later));
  Reader reader(file.path());
  reader.read_on();
  CHECK(reader.damaged().size() == 1);
  CHECK(reader.runs().size() == 2);
  CHECK(reader.steps().size() == 2);  // the third was replaced
  CHECK(reader.steps().at(1).complete);
  CHECK_FALSE(reader.damage_since(1).empty());
  CHECK(reader.steps().at(2).files.at(0).bytes == 6000);
  CHECK_FALSE(reader.steps().at(2).complete);
  CHECK_THAT(reader.why_partial(2).at(0), Catch::StartsWith("the line of its run is unreadable"));
  const Outline outline = outline_of(file.path());
  CHECK(outline.is_unknown);
  CHECK(outline.replaced_until == 0);
}

TEST_CASE("of many damaged lines the first ones are reported, each in a short sentence, and the rest are counted") {
  const RecordText file;
  file.add_line(to_json(step(1, 0)));
  Json line = to_json(step(1, 0));
  line["files"][0]["checksum"] = std::string(100'000, 'x');
  file.add_line(line);
  for (int i = 0; i < 149; ++i) file.add("x\n");
  file.add_line(to_json(step(2, 0)));
  file.add("x\n");
  Reader reader(file.path());
  reader.read_on();
  CHECK(reader.damaged().size() == 100);
  CHECK(reader.more_damaged() == 51);
  CHECK(reader.damaged().front().size() < 1000);
  CHECK(reader.damage_since(1) == reader.damaged().front());
  CHECK(reader.damage_since(2) == file.path() + ":153: this line is damaged, as are 100 before it");
}

TEST_CASE("the manifest of a newer version is refused") {
  const RecordText file;
  Json run = kRun;
  run["format_version"] = kManifestVersion + 1;
  file.add_line(run);
  Reader reader(file.path());
  CHECK_THROWS_WITH(reader.read_on(), Catch::StartsWith(file.path() + ":1: ") && Catch::Contains("use a newer Damaris"));
}

TEST_CASE("a run that stores no files replaces nothing, one that does replaces what it declares") {
  const bool all = GENERATE(false, true);
  const RecordText file;
  Json run = kRun;
  run["replaces"] = all ? "all" : "later";
  StepEntry nothing = step(2, 0);
  nothing.files.clear();
  file.add_line(kRun);
  for (int number : {1, 2, 3}) file.add_line(to_json(step(number, 0)));
  file.add_line(run);
  file.add_line(to_json(nothing));
  Reader reader(file.path());
  reader.read_on();
  CHECK(reader.steps().size() == 3);
  CHECK(reader.steps().at(2).files.size() == 1);
  CHECK(outline_of(file.path()).replaced_until == 0);
  file.add_line(to_json(step(3, 1)));
  reader.read_on();
  CHECK(reader.steps().size() == (all ? 2 : 3));
  CHECK(reader.steps().at(3).servers == std::vector<int>{1});
  CHECK(reader.steps().at(2).files.size() == (all ? 0 : 1));
  const Outline outline = outline_of(file.path());
  CHECK((outline.replaced_until > 0) == all);
  CHECK(outline.job == "local");
  CHECK(outline.mentions_steps);
}

TEST_CASE("numbers that JSON does not have are omitted, and null counts as missing") {
  StepEntry record = step(1, 0);
  record.time = std::numeric_limits<double>::quiet_NaN();
  Json line = to_json(record);
  CHECK(line.count("time") == 0);
  line["time"] = nullptr;
  CHECK_FALSE(step_from_json(line).time);
}

}  // namespace
}  // namespace damaris::manifest
