// Without /proc, as in a small container or a chroot: what it would say comes from locks and descriptors, or is left out.
#include "recover.hpp"

namespace damaris::test {
namespace {

// The dynamic linker finds no library beside a program there, and UCX, which MPICH brings, complains on standard output.
std::vector<std::string> without_proc(const std::vector<std::string>& command) {
  const std::string libraries = std::filesystem::path(std::getenv("DAMARIS_TEST_CLIENT")).parent_path() / "../../lib";
  std::vector<std::string> whole = {
      "unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && UCX_LOG_LEVEL=fatal LD_LIBRARY_PATH=$0 exec \"$@\"",
      libraries};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

bool can_hide_proc() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  WARN("SKIP: sanitizers need /proc");
  return false;
#endif
  Process attempt(without_proc({"true"}), true);
  if (attempt.wait() == 0) return true;
  WARN("SKIP: to hide /proc needs root and unshare");
  return false;
}

}  // namespace

TEST_CASE("without /proc runs store, go on and are verified, in place and with a server", "[unpromised]") {
  if (!can_hide_proc()) return;
  const bool in_place = GENERATE(true, false);
  Run run;
  const std::string basename = run.folder().file("out");
  const std::string architecture = in_place ? "<dedicated cores='0'/>" : "<clients count='1'/>";
  const std::string config = run.folder().write(
      "run.xml",
      Run::xml(architecture, "<storage><hdf5 basename='" + basename + "' exists='append' restart='" + basename + "'/></storage>"));
  const std::vector<std::string> runs[] = {{"init 0", "write 0", "end 0", "flush 0 60000", "finalize"},
                                           {"init 0", "read 0", "write 1", "end 1", "flush 1 60000", "finalize"}};
  for (const std::vector<std::string>& commands : runs) {
    TestClient client(without_proc({std::getenv("DAMARIS_TEST_CLIENT"), config}));
    for (const std::string& command : commands) client.must(command);
    REQUIRE(wait_until([&] { return run.regions().empty(); }));
  }
  Process verify(without_proc({"damaris", "verify", basename}), true);
  const std::string said = all_lines(verify);
  INFO(said);
  CHECK(verify.wait() == 0);
  CHECK_THAT(said, Catch::Contains("2 steps, 2 files, 2 datasets") && Catch::Contains("all as recorded"));
  CHECK(std::filesystem::exists(basename + ".h5"));
}

}  // namespace damaris::test
