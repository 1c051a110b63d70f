// Which steps the views follow, against what the reader of the manifest says of the same lines.
#include "plugins/hdf5/views/followed_run.hpp"

#include <catch2/catch.hpp>
#include <damaris/error.hpp>

#include <fstream>
#include <random>

#include "manifest/reader.hpp"
#include "support/temp_folder.hpp"

using namespace damaris;
using namespace damaris::test;
using hdf5::FollowedRun;

namespace {

class RandomLines {
 public:
  explicit RandomLines(unsigned seed) : random_(seed) {}

  std::string next() {
    switch (from(0, 14)) {
      case 0:
        return run();
      case 1:
        return R"({"joined":)" + std::to_string(from(0, 2)) + R"(,"host":"node)" + std::to_string(from(7, 8)) + "\"}";
      case 2:
        return R"({"ended":)" + std::to_string(from(0, 2)) + R"(,"host":"node)" + std::to_string(from(7, 8)) +
               R"(","lost":[[4,3]]})";
      case 3:
        return from(0, 3) == 0 ? "no JSON" : R"({"view":"run.h5","bytes":4,"checksum":"crc32:00000001"})";
      default:
        return step();
    }
  }
  int from(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }

 private:
  std::string run() {
    manifest::RunEntry entry;
    entry.run = std::to_string(++runs_);
    entry.servers = servers_ = from(1, 3);
    entry.replaces_all = from(0, 2) == 0;
    entry.apart = apart_ = from(0, 1) == 0;
    if (apart_) entry.host = "node7";
    entry.declared = std::make_shared<const manifest::Declarations>();
    first_ = from(0, 6);
    return manifest::to_json(entry).dump();
  }

  std::string step() {
    manifest::StepEntry entry;
    entry.step = first_ + from(0, 8);
    if (from(0, 1) == 0) entry.time = from(0, 9);
    entry.servers = {from(0, servers_ - 1)};
    if (!apart_)
      for (int server = entry.servers[0] + 1; server < servers_ && from(0, 3) > 0; ++server) entry.servers.push_back(server);
    const std::string host = apart_ ? "node" + std::to_string(from(7, 8)) : "";
    for (const int server : entry.servers) entry.reporters.emplace_back(host, server);
    for (const int server : entry.servers)
      if (from(0, 3) > 0) {
        manifest::FileEntry& file = entry.files.emplace_back();
        file.name = "run." + host + ".s" + std::to_string(server) + ".i" + std::to_string(entry.step) + ".h5";
        file.server = server;
        file.checksum = 1;
      }
    if (from(0, 7) == 0) entry.missing = {from(0, 5)};
    if (from(0, 9) == 0) entry.failures = {"why"};
    if (from(0, 9) == 0) entry.skipped = {"v"};
    entry.recovered = from(0, 9) == 0;
    entry.complete = entry.missing.empty() && entry.failures.empty() && entry.skipped.empty() && from(0, 9) > 0;
    return manifest::to_json(entry).dump();
  }

  std::mt19937 random_;
  int runs_ = 0, servers_ = 1, first_ = 0;
  bool apart_ = false;
};

std::vector<std::string> names_of(const manifest::StepEntry& step) {
  std::vector<std::string> names;
  for (const manifest::FileEntry& file : step.files) names.push_back(file.name);
  return names;
}

// Checks that the run has the steps that the reader has.
void check_same(FollowedRun& run, const manifest::Reader& reader) {
  REQUIRE(run.steps().size() == reader.steps().size());
  CHECK(run.last_run_has_steps() == reader.last_run_has_steps());
  CHECK(run.damaged() == reader.damaged());
  for (const auto& [step, expected] : reader.steps()) {
    INFO("step " << step);
    REQUIRE(run.steps().count(step) == 1);
    CHECK(run.steps().at(step).complete == expected.complete);
    CHECK(run.steps().at(step).time == expected.time);
    CHECK(run.steps().at(step).declared.operator bool() == expected.declared.operator bool());
    CHECK(names_of(run.entry(step)) == names_of(expected));
  }
}

}  // namespace

TEST_CASE("property: the views follow the steps that the reader of the manifest has, read in whatever portions") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    const TempFolder folder;
    const std::string path = folder.file("run.jsonl");
    RandomLines lines(seed);
    FollowedRun run(path);
    manifest::Reader reader(path);
    std::map<std::int64_t, std::uint32_t> sums;  // as of the last look
    for (int portion = 0; portion < 6; ++portion) {
      {
        std::ofstream file(path, std::ios::app);
        for (int line = lines.from(0, 6); line > 0; --line) file << lines.next() << "\n";
      }
      run.read_on();
      reader.read_on();
      check_same(run, reader);
      const std::set<std::int64_t> changed = run.take_changed();
      for (const auto& [step, known] : run.steps()) {
        CHECK((changed.count(step) > 0 || sums.at(step) == run.sum_of(step)));
        sums[step] = run.sum_of(step);
      }
    }
  }
}

TEST_CASE("a step whose line has changed since it was read is refused") {
  const TempFolder folder;
  const std::string line = R"({"step":1,"complete":true,"servers":[0],"files":[]})";
  const std::string path = folder.write("run.jsonl", line + "\n" + line + "\n");
  FollowedRun run(path);
  run.read_on();
  CHECK(run.entry(1).step == 1);
  folder.write("run.jsonl", "gone\n");
  CHECK_THROWS_WITH(run.entry(1), Catch::Contains("has changed since it was read"));
}
