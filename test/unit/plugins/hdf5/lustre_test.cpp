// Stripes of files in a Lustre file system, which a preloaded library plays.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>

#include "plugins/hdf5/write/new_file.hpp"
#include "support/temp_folder.hpp"
#include "unit/plugins/fake_host.hpp"

using namespace damaris::test;
using damaris::hdf5::NewFiles;
using damaris::hdf5::Striping;

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Two files in a file system with so many targets: what has been striped, and the warnings.
struct Made {
  Made(const Striping& striping, const char* targets) {
    ::setenv("DAMARIS_TEST_STRIPES", folder.file("stripes").c_str(), 1);
    ::setenv("DAMARIS_TEST_TARGETS", targets, 1);
    NewFiles files(*host.view(), folder.path().string(), striping, 4096);
    for (const char* name : {"a.h5", "b.h5"}) {
      const auto file = files.create(folder.file(std::string(".tmp.") + name), folder.file(name));
      file->append("values");
      CHECK(file->publish(true) == 6);
    }
    striped = lines_of(folder.file("stripes"));
  }
  TempFolder folder;
  FakeHost host;
  std::vector<std::string> striped;
};

}  // namespace

TEST_CASE("each file is striped as the XML says before it has a byte") {
  const Made made({4, 1048576}, "8");
  CHECK(made.striped == std::vector<std::string>{"0 4 1048576", "0 4 1048576"});
  CHECK(made.host.lines.empty());
}

TEST_CASE("what the XML does not say is left to the folder") {
  CHECK(Made({0, 65536}, "8").striped == std::vector<std::string>{"0 0 65536", "0 0 65536"});
  CHECK(Made({}, "8").striped.empty());
}

TEST_CASE("more stripes than there are targets: one warning, and the files are stored with the stripes of the folder") {
  const Made made({4, 0}, "2");
  CHECK(made.striped.empty());
  REQUIRE(made.host.lines.size() == 1);
  CHECK(made.host.lines[0].first == 1);
  CHECK_THAT(made.host.lines[0].second,
             Catch::Contains("Invalid argument") && Catch::Contains("give no more stripes than there are targets"));
}
