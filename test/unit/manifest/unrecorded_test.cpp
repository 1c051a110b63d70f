// Which lists of unrecorded steps are found in a folder.
#include "manifest/unrecorded.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <limits>

#include "core/base/json.hpp"
#include "manifest/sealed_line.hpp"
#include "support/temp_folder.hpp"

using namespace damaris;
using manifest::UnrecordedSteps;

TEST_CASE(
    "the cost of finding the lists of unrecorded steps depends on the folder, not on the number of servers that a manifest "
    "claims") {
  const test::TempFolder folder;
  const manifest::FileNames names(folder.file("storm"), "");
  for (const char* server : {"0", "12", "3", "007", "x", "", "-1", "99999999999"})
    folder.write(std::string(".storm.s") + server + ".unrecorded", "{\"unrecorded\":\"r\"}\n");
  folder.write(".storm.s5.unrecorded", "{\"unrecorded\":\"of another run\"}\n");
  folder.write(".storms.s6.unrecorded", "{\"unrecorded\":\"r\"}\n");
  const auto count = [&](int servers) { return UnrecordedSteps::find_all(names, "r", servers).size(); };
  CHECK(count(std::numeric_limits<int>::max()) == 3);
  CHECK(count(12) == 2);
  CHECK(count(1) == 1);
  UnrecordedSteps::find_all(names, "r", 4).front().remove();  // in the order of the servers
  CHECK(count(1) == 0);
}

TEST_CASE("independent servers have a list each, and only those of the manifest's last run count") {
  const test::TempFolder folder;
  const manifest::FileNames names(folder.file("storm"), "");
  const auto note = [&](const char* host, const std::string& regions, std::int64_t step) {
    manifest::StepEntry entry;
    entry.step = step;
    entry.servers = {0};
    entry.reporters = {{host, 0}};
    UnrecordedSteps list(names, {host, 0}, regions);
    list.add(manifest::to_json(entry));
  };
  note("a", "region.a", 1);
  note("b", "region.b", 2);
  note("c", "of an earlier run", 3);
  std::filesystem::create_symlink(".storm.s0.a.unrecorded", folder.file(".storm.s0.planted.unrecorded"));
  folder.write(".storm.s0.empty.unrecorded", "");
  const auto lists = UnrecordedSteps::find_apart(names);
  CHECK(lists.size() == 3);
  CHECK(UnrecordedSteps::find_all(names, "region.a", 1).empty());

  manifest::RunEntry run;
  run.run = run.simulation = "storm";
  run.regions = "region.a";
  run.apart = true;
  run.host = "a";
  manifest::ServerEntry joined;
  joined.host = "b";
  joined.regions = "region.b";
  std::string seal;
  std::string text;
  for (const Json& line : {manifest::to_json(run), manifest::to_json(joined)}) {
    seal = manifest::sealed(text_of(line), manifest::seal_of(seal));
    text += seal + "\n";
  }
  folder.write("storm.jsonl", text);
  const auto missing = manifest::missing_in(folder.file("storm.jsonl"), lists);
  REQUIRE(missing.size() == 2);
  CHECK(missing[0].step == 1);
  CHECK(missing[1].step == 2);
}
