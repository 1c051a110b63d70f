// Children of a simulation: what forks.cpp makes of them, in place and with a server; and what a new program would inherit.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "support/run_program.hpp"
#include "support/temp_folder.hpp"

namespace {

using damaris::test::TempFolder;

std::string xml([[maybe_unused]] const TempFolder& folder, const std::string& cores) {
#ifdef FORKS_HDF5
  const std::string storage = "<storage><hdf5 basename='" + folder.file("run") + "'/></storage>";
#else
  const std::string storage;
#endif
  return "<simulation name='forks'><architecture><dedicated cores='" + cores +
         "'/><buffer size='1MiB'/></architecture><data><parameter name='n' value='16'/><layout name='line' type='double' "
         "dimensions='n'/><variable name='x' layout='line'/></data>" +
         storage + "<plugin name='log' using='damaris_test_recorder.so'/><actions><event name='tick'/></actions></simulation>";
}

std::vector<std::string> lines(const std::string& file, const std::string& part) {
  std::ifstream log(file);
  std::vector<std::string> found;
  for (std::string line; std::getline(log, line);)
    if (line.find(part) != std::string::npos) found.push_back(line);
  return found;
}

TEST_CASE("children of every kind leave a session alone: each step is whole, once, with its own values") {
  const std::string cores = GENERATE(as<std::string>{}, "0", "1");
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  ::setenv("DAMARIS_JOB", folder.path().filename().c_str(), 1);
  const auto run =
      damaris::test::run_program({std::getenv("DAMARIS_TEST_FORKS"), folder.write("forks.xml", xml(folder, cores))}, folder.path());
  INFO("dedicated cores: " + cores + "\n" + run.err);
  CHECK(run.status == 0);
  for (int step = 0; step < 6; ++step) {
    const auto found = lines(folder.file("log.s0"), "step " + std::to_string(step) + " ");
    REQUIRE(found.size() == 1);
    CHECK_THAT(found[0], Catch::Contains("complete 1") &&
                             Catch::Contains(" datasets 1 x:0.0=128:" + std::to_string(16 * (step + 1))) &&
                             !Catch::Contains("missing"));
  }
  CHECK(lines(folder.file("log.s0"), "step").size() == 6);
  CHECK(lines(folder.file("log.s0"), "finalize").size() == 1);
#ifdef FORKS_HDF5
  const auto verify = damaris::test::run_program({"damaris-verify", folder.file("run")});
  INFO(verify.out + verify.err);
  CHECK(verify.status == 0);
#endif
}

std::set<int> descriptors() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename().string());
    if (::fcntl(number, F_GETFD) >= 0) found.insert(number);
  }
  return found;
}

TEST_CASE("a program that the simulation starts inherits no descriptor of Damaris") {
  const TempFolder folder;
  ::setenv("DAMARIS_JOB", folder.path().filename().c_str(), 1);
  ::unsetenv("DAMARIS_TEST_LOG");
  const std::string cores = GENERATE(as<std::string>{}, "0", "1");
  std::string text = xml(folder, cores);
  text.insert(text.find("<data>"), "<log level='debug' file='" + folder.file("damaris.log") + "'/>");
  const std::set<int> before = descriptors();
  REQUIRE(dc_initialize(folder.write("forks.xml", text).c_str(), 0) == DC_OK);
  const double values[16] = {};
  REQUIRE(dc_write("x", 0, values) == DC_OK);
  REQUIRE(dc_end_iteration(0) == DC_OK);
  for (const int number : descriptors()) {
    std::error_code ignored;
    const auto what = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(number), ignored);
    INFO(number << " is " << what.string());
    if (before.count(number) == 0) CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(dc_finalize() == DC_OK);
}

}  // namespace
