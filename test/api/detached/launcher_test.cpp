// A detached server outlives the launcher that started its clients (needs mpirun, though nobody in it uses MPI).
#include "run.hpp"

namespace damaris::test {
namespace {

pid_t pid_in(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  return file >> pid ? pid : 0;
}

TEST_CASE("a detached server survives the SIGKILL of mpirun and its process group, and stores what the clients had published") {
  Run run("<clients count='auto'/>");
  Process launcher({std::string(std::getenv("DAMARIS_SOURCE_DIR")) + "/scripts/mpi-run", std::getenv("DAMARIS_MPI_FLAVOUR"), "-n",
                    "2", std::getenv("DAMARIS_TEST_CLIENT"), run.config(), run.folder().file("pid")},
                   false, true);
  const auto client = [&](int rank) { return pid_in(run.folder().file("pid." + std::to_string(rank))); };
  REQUIRE(wait_until([&] { return client(0) != 0 && client(1) != 0; }));
  const pid_t server = run.region().server_pid;
  CHECK(::getpgid(server) != ::getpgid(launcher.pid()));
  CHECK(::getsid(server) != ::getsid(client(0)));
  ::kill(-launcher.pid(), SIGKILL);
  CHECK(launcher.wait() == 128 + SIGKILL);
  for (int rank = 0; rank < 2; ++rank) ::kill(client(rank), SIGKILL);
  CHECK(run.ends());
  CHECK_THAT(run.lines("step 0").at(0), Catch::EndsWith("datasets 2 x:0.0=128:0 x:1.0=128:0"));
  CHECK_THAT(run.lines("step 1").at(0), Catch::EndsWith("datasets 2 x:0.0=128:16 x:1.0=128:16 missing:0 missing:1"));
  CHECK(run.lines("finalize").size() == 1);
}

}  // namespace
}  // namespace damaris::test
