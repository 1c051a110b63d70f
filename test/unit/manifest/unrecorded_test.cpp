// Which lists of unrecorded steps are found in a folder.
#include "manifest/unrecorded.hpp"

#include <catch2/catch.hpp>

#include <limits>

#include "core/base/json.hpp"
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
