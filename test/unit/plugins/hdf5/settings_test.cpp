// The settings, and what init refuses: everything that would fail later.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "unit/plugins/hdf5/fixture.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

struct Refusal {
  int code;
  std::string sentence;
};

Refusal refusal_of(const Settings& settings, const std::vector<dc_variable_info_t>& variables = {}) {
  const FakeHost host(settings, variables);
  const RunningPlugin plugin("hdf5", host);
  return {plugin.init_code, host.failure};
}

Refusal refusal_with(const std::string& key, const std::string& value) {
  const TempFolder folder;
  return refusal_of({{"basename", folder.file("storm")}, {key, value}});
}

}  // namespace

TEST_CASE("filters: unknown names, levels and orders are refused, as config refuses them") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"gzip", "no filter 'gzip'; known are shuffle and deflate:LEVEL"},
      {"shuffle;deflate", "no filter 'shuffle;deflate'; known are shuffle and deflate:LEVEL"},
      {"shuffle:1", "shuffle takes no level"},
      {"shuffle,,deflate", "no filter ''; known are shuffle and deflate:LEVEL"},
      {"deflate:10", "the level of deflate must be 0 to 9"},
      {"deflate:-1", "the level of deflate must be 0 to 9"},
      {"deflate:", "the level of deflate must be 0 to 9"},
      {"deflate:1,shuffle", "shuffle must precede deflate"},
      {"shuffle,shuffle", "'shuffle' is given twice"},
  };
  for (const auto& [value, why] : cases) {
    const Refusal refusal = refusal_with("filters", value);
    CHECK(refusal.code == DC_E_CONFIG);
    CHECK(refusal.sentence == "filters=\"" + value + "\": " + why);
  }
}

TEST_CASE("filters: none, one, both, blanks between them and a missing level are accepted") {
  for (const char* value : {"", " ", "shuffle", "deflate", "deflate:9", "shuffle, deflate:1 "})
    CHECK(refusal_with("filters", value).code == DC_OK);
}

TEST_CASE("values beyond the table of attributes and unknown settings are refused, whatever host gives them") {
  const std::vector<std::array<std::string, 3>> cases = {
      {"files", "one", "it is not one of the choices of this attribute"},
      {"group-size", "0", "it must be a whole number from 1 to 1000000"},
      {"threads", "65", "it must be a whole number from 1 to 64"},
      {"retry-ms", "1s", "it must be a whole number from 0 to 2073600000"},
      {"exists", "ask", "it is not one of the choices of this attribute"},
      {"basename", "out/", "it ends in '/'; add the start of the file names"},
      {"restart", "out/..", "it ends in '..'; add the start of the file names"},
      {"basname", "out/storm",
       "<hdf5> has no such setting; known are basename, files, group-size, filters, threads, memory-bytes, restart, schedule, "
       "writers, turn-timeout-ms, retry-ms, time-unit, exists"},
      {"reduce", "deflate",
       "<hdf5> has no such setting; known are basename, files, group-size, filters, threads, memory-bytes, restart, schedule, "
       "writers, turn-timeout-ms, retry-ms, time-unit, exists"},
  };
  for (const auto& [key, value, why] : cases) {
    const Refusal refusal = refusal_with(key, value);
    CHECK(refusal.code == DC_E_CONFIG);
    CHECK(refusal.sentence == key + "=\"" + value + "\": " + why);
  }
  CHECK(refusal_with("files", "per-server").code == DC_OK);
  CHECK(refusal_with("group-size", "1").code == DC_OK);
}

TEST_CASE("a run for restart with a name that the file system cannot take is not looked up before it is read") {
  CHECK(refusal_with("restart", std::string(5000, 'r')).code == DC_OK);
}

TEST_CASE("servers without MPI cannot write a file together") {
  for (const char* files : {"per-group", "single"}) {
    const TempFolder folder;
    FakeHost host({{"basename", folder.file("storm")}, {"files", files}});
    host.cut_off();
    const RunningPlugin plugin("hdf5", host);
    CHECK(plugin.init_code == DC_E_CONFIG);
    CHECK(host.failure.find("per-server") != std::string::npos);
  }
}

TEST_CASE("a variable and a group of one name are refused, names that only begin alike are not") {
  const TempFolder folder;
  const Settings settings = {{"basename", folder.file("storm")}};
  const auto outer = variable_info(0, "fields/u", DC_INT32, 1), inner = variable_info(1, "fields/u/mean", DC_INT32, 1),
             alike = variable_info(2, "fields/u2", DC_INT32, 1);
  const Refusal refusal = refusal_of(settings, {outer, inner});
  CHECK(refusal.code == DC_E_CONFIG);
  CHECK(refusal.sentence ==
        "the variable 'fields/u' and the group of 'fields/u/mean' have the same name, which an HDF5 file cannot hold; rename one "
        "of them");
  CHECK(refusal_of(settings, {outer, alike}).code == DC_OK);
}

TEST_CASE("without basename the files get the name of the simulation, in the working directory of the start") {
  const TempFolder folder, elsewhere;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  FakeHost host;
  RunningPlugin plugin("hdf5", host);
  std::filesystem::current_path(elsewhere.path());
  Blocks blocks(4);
  blocks.add(variable, 0, {1}, std::vector<int>{1});
  const int code = plugin.on_step(blocks.view());
  std::filesystem::current_path(before);
  REQUIRE(code == DC_OK);
  CHECK(std::filesystem::exists(folder.file("storm.node7.s3.i4.h5")));
}

TEST_CASE("a missing output folder is refused with the command that creates it") {
  const TempFolder folder;
  const Refusal refusal = refusal_of({{"basename", folder.file("a/b/storm")}});
  CHECK(refusal.code == DC_E_NO_OUTPUT);
  CHECK_THAT(refusal.sentence, StartsWith("the output folder '" + folder.file("a/b") +
                                          "' cannot be used: No such file or directory; create it with: mkdir -p"));
  CHECK_THAT(refusal.sentence, EndsWith("No such file or directory; create it with: mkdir -p '" + folder.file("a/b") + "'"));
}

TEST_CASE("a file in place of the output folder is refused") {
  const TempFolder folder;
  folder.write("out", "");
  const Refusal refusal = refusal_of({{"basename", folder.file("out/storm")}});
  CHECK(refusal.code == DC_E_NO_OUTPUT);
  CHECK_THAT(refusal.sentence, EndsWith("Not a directory; a part of this path is a file; choose another basename"));
}

TEST_CASE("an output folder without the right to write is refused, except for root, which has it") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  std::filesystem::permissions(folder.file("out"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const Refusal refusal = refusal_of({{"basename", folder.file("out/storm")}});
  if (::geteuid() == 0) {
    CHECK(refusal.code == DC_OK);
  } else {
    CHECK(refusal.code == DC_E_NO_OUTPUT);
    CHECK_THAT(refusal.sentence, EndsWith("Permission denied; make it writable or choose another basename"));
  }
}

TEST_CASE("a basename too long for the file system is refused") {
  const TempFolder folder;
  const Refusal refusal = refusal_of({{"basename", folder.file(std::string(220, 'x'))}});
  CHECK(refusal.code == DC_E_NO_OUTPUT);
  CHECK_THAT(refusal.sentence, EndsWith("File name too long; choose a shorter basename"));
}

TEST_CASE("init leaves nothing in the output folder but its log, and the file that names the run") {
  const Fixture run;
  CHECK(run.listing().empty());
}

TEST_CASE("exists: files of an earlier run are a warning by default and an error with refuse") {
  const TempFolder folder;
  for (const char* name : {"storm.node7.s3.i5.h5", "storm.node7.s3.i40.h5"}) folder.write(name, "");
  // Other servers', other runs' and other files do not count.
  for (const char* name : {"storm.node7.s33.i5.h5", "storm.node8.s3.i5.h5", "storm2.node7.s3.i5.h5", "storm.node7.s3.i5x.h5",
                           "storm.node7.s3.i.h5", "storm.node7.s3.i5.h5.bak"})
    folder.write(name, "");
  const std::string found = "2 files of an earlier run are in '" + folder.path().string() + "' (such as storm.node7.s3.i5.h5)";
  const FakeHost host({{"basename", folder.file("storm")}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_OK);
  REQUIRE(host.lines.size() == 1);
  CHECK(host.lines[0].first == 1);
  CHECK(host.lines[0].second == "hdf5: " + found + "; they will be removed when this run stores its first step");
  const Refusal refusal = refusal_of({{"basename", folder.file("storm")}, {"exists", "refuse"}});
  CHECK(refusal.code == DC_E_NO_OUTPUT);
  CHECK(refusal.sentence ==
        found + " and exists=\"refuse\"; move them away, choose another basename or use exists=\"overwrite\" or \"append\"");
}

TEST_CASE("exists: another user's file is named with its owner") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const TempFolder folder;
  for (const char* name : {"storm.node7.s3.i5.h5", "storm.node7.s3.i6.h5"}) folder.write(name, "");
  REQUIRE(::chown(folder.file("storm.node7.s3.i5.h5").c_str(), 65534, 65534) == 0);
  const Refusal refusal = refusal_of({{"basename", folder.file("storm")}, {"exists", "refuse"}});
  CHECK_THAT(refusal.sentence, Contains("(such as storm.node7.s3.i5.h5, which belongs to user 65534) and exists=\"refuse\""));
}

TEST_CASE(
    "basename: a name that is not UTF-8 is refused, as the manifest could not contain its files' names; its folder may have any "
    "name") {
  const TempFolder folder;
  for (const char* name : {"n\xf6"
                           "de",
                           "\xc3", "\xed\xa0\x80", "\xe0\x80\xaf"}) {
    const Refusal refusal = refusal_of({{"basename", folder.file(name)}});
    CHECK(refusal.code == DC_E_CONFIG);
    CHECK_THAT(refusal.sentence, EndsWith("\": it is not UTF-8; choose another name"));
  }
  CHECK(refusal_of({{"basename", folder.file("n\xc3\xb6"
                                             "de")}})
            .code == DC_OK);
  std::filesystem::create_directory(folder.file("n\xf6"));
  CHECK(refusal_of({{"basename", folder.file("n\xf6/storm")}}).code == DC_OK);
}

namespace {

// The id of a process that is no more.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("incomplete files of a killed server are removed at the next start, a living one's and others' are not") {
  const TempFolder folder;
  const std::string dead = std::to_string(dead_process()), alive = std::to_string(::getppid());
  folder.write(".storm.node7.s3.i5.h5.tmp." + dead, "");
  const std::vector<std::string> others = {".storm.node7.s3.i5.h5.tmp." + alive, ".storm.node7.s4.i5.h5.tmp." + dead,
                                           ".storm.node8.s3.i5.h5.tmp." + dead, ".storm.node7.s3.ix.h5.tmp." + dead,
                                           ".storm.node7.s3.i5.h5.tmp.x" + dead};
  for (const std::string& name : others) folder.write(name, "");
  const FakeHost host(Settings{{"basename", folder.file("storm")}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_OK);
  CHECK_FALSE(std::filesystem::exists(folder.file(".storm.node7.s3.i5.h5.tmp." + dead)));
  for (const std::string& name : others) CHECK(std::filesystem::exists(folder.file(name)));
  REQUIRE(host.lines.size() == 1);
  CHECK(host.lines[0].second == "hdf5: removed 1 incomplete files that a killed server left in '" + folder.path().string() + "'");
}

TEST_CASE("incomplete files are removed by the names that a server gives them, with unpredictable letters") {
  const TempFolder folder;
  const std::string start = ".storm.node7.s3.i5.h5.tmp.";
  const std::string dead = start + std::to_string(dead_process()) + ".k3abx7qwerty";
  const std::string alive = start + std::to_string(::getppid()) + ".k3abx7qwerty";
  for (const std::string& name : {dead, alive}) folder.write(name, "");
  const FakeHost host(Settings{{"basename", folder.file("storm")}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_OK);
  CHECK_FALSE(std::filesystem::exists(folder.file(dead)));
  CHECK(std::filesystem::exists(folder.file(alive)));
}

TEST_CASE("incomplete files of a killed server are removed even if no process has yet waited for it") {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t end = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT) == 0);
  const std::string left = ".storm.node7.s3.i5.h5.tmp." + std::to_string(child);
  folder.write(left, "");
  const FakeHost host(Settings{{"basename", folder.file("storm")}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_OK);
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(std::filesystem::exists(folder.file(left)));
}
