#include "core/base/process.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace damaris {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kVariables[] = {"DAMARIS_JOB",    "PMIX_NAMESPACE", "PALS_APID", "SLURM_JOB_ID", "SLURM_STEP_ID",
                                      "PBS_JOBID",      "LSB_JOBID",      "JOB_ID",    "PMI_RANK",     "OMPI_COMM_WORLD_RANK",
                                      "MPI_LOCALRANKID"};

// Nothing but what is given, until the end of the test.
class Environment {
 public:
  explicit Environment(const Variables& given) {
    for (const char* name : kVariables) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : given) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const char* name : kVariables) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Variables before_;
};

// Of another process.
std::string identity_of_child(const std::string& xml) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = run_identity(xml);
    _exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  char text[1024] = {};
  const ssize_t got = ::read(ends[0], text, sizeof text - 1);
  ::close(ends[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
}

TEST_CASE("without a launcher, a batch job and DAMARIS_JOB two processes are two runs") {
  const Environment none(Variables{});
  CHECK(identity_of_child("<a/>") != identity_of_child("<a/>"));
  CHECK(run_identity("<a/>") == run_identity("<a/>"));
}

TEST_CASE(
    "processes with the same name of a run from launchers, batch systems or users are one run, but only of one configuration") {
  const auto given = GENERATE(Variables{{"DAMARIS_JOB", "mine"}}, Variables{{"PMIX_NAMESPACE", "77"}},
                              Variables{{"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "0"}}, Variables{{"PBS_JOBID", "5"}});
  const Environment environment(given);
  CHECK(identity_of_child("<a/>") == identity_of_child("<a/>"));
  CHECK(identity_of_child("<a/>") != identity_of_child("<b/>"));
}

TEST_CASE("two steps of one batch job are two runs") {
  const auto of_step = [](const char* step) {
    const Environment environment(Variables{{"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", step}});
    return run_identity("<a/>");
  };
  CHECK(of_step("0") != of_step("1"));
}

TEST_CASE("ranks of one launcher on this machine are one run") {
  const Environment environment(Variables{{"PMI_RANK", "0"}});  // set here and inherited: the launcher is above this process
  CHECK(identity_of_child("<a/>") == identity_of_child("<a/>"));
}

}  // namespace
}  // namespace damaris
