// What back-pressure leaves out stands in the manifest and in the file, and verify says it.
#include "core/shm/region.hpp"
#include "recover.hpp"

namespace damaris::test {
namespace {

const std::string kSpills =
    "<clients count='1'/><buffer size='64KiB' timeout='60s' on-full='spill' spill='spill' spill-size='100KiB'/>";

const std::string kSpillsOfTwo =
    "<clients count='2'/><buffer size='64KiB' timeout='60s' on-full='spill' spill='spill' spill-size='100KiB'/>";

constexpr int kBlocks = 150;  // of 192 bytes: more than three quarters of one client's half of the buffer

struct Killed {
  shm::FoundRegion region;
  int written;
};

// Writes blocks of step 0, and one of step 9 where it `goes_on` beside a client that does not, until some are spilled, then kills all.
Killed spill_and_kill(Run& run, bool goes_on = false) {
  std::filesystem::create_directory("spill");
  TestClient& client = run.attached(0);
  Killed killed = {run.region(), 0};
  const shm::Region region = shm::Region::attach(killed.region.name);
  const auto spilled = [&] { return region.header().spilled_blocks.load() > 0; };
  if (goes_on) {
    run.attached(1);
    stop(killed.region.server_pid);
    for (; killed.written < kBlocks; ++killed.written) client.must("write 0 " + std::to_string(killed.written));
    client.must("write 9");
    ::kill(killed.region.server_pid, SIGCONT);
    REQUIRE(wait_until(spilled));
    ++killed.written;
  }
  while (!spilled()) client.must("write 0 " + std::to_string(killed.written++));
  ::kill(killed.region.server_pid, SIGKILL);
  wait_until_dead(killed.region);
  run.drop(0);
  if (goes_on) run.drop(1);
  return killed;
}

}  // namespace

TEST_CASE("a step that was dropped or skipped in part is reported by the code, the manifest, the file and verify") {
  const bool drops = GENERATE(true, false);
  const std::string word = drops ? "drop" : "skip";
  Run run("<clients count='1'/><buffer size='64KiB' timeout='0s' on-full='" + word + "'/>",
          "<storage><hdf5 basename='out/x'/></storage>");
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  TestClient& client = run.attached(0);
  CHECK(client("fill 0").code == (drops ? DC_N_DROPPED : DC_N_SKIPPED));
  for (const char* command : {"end 0", "flush 0 60000", "write 1", "end 1", "finalize"}) client.must(command);
  CHECK(run.ends());
  const Output output = damaris({"verify", "out/x"});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("step 0") && Catch::Contains("'x' was " + word + "ped for lack of room"));
  CHECK_THAT(output.text, !Catch::Contains("step 1"));
  std::ifstream record("out/x.jsonl");
  const std::string text(std::istreambuf_iterator<char>(record), {});
  CHECK_THAT(text, Catch::Contains("\"skipped\":[\"x\"]"));
  CHECK((text.find("\"dropped\":true") != std::string::npos) == drops);
}

TEST_CASE("a server that was killed after it had spilled loses nothing of it") {
  Run run(kSpills, "<storage>" + Run::kRecorder + "</storage>");
  const std::string spill = run.folder().file("spill");
  const InFolder folder(run.folder().path());
  const auto [region, written] = spill_and_kill(run);
  Output output = damaris({"recover", "--list", region.name});
  CHECK_THAT(output.text, Catch::Contains(" of step 0, ") && Catch::Contains(" spilled to " + spill + "/damaris."));
  output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(run.lines("step 0 ").at(0), Catch::Contains("datasets " + std::to_string(written) + " "));
  CHECK(std::filesystem::is_empty(spill));
}

TEST_CASE("recovery names all steps that it has stored, spilled or not") {
  Run run(kSpillsOfTwo, "<storage>" + Run::kRecorder + "</storage>");
  const InFolder folder(run.folder().path());
  const auto [region, written] = spill_and_kill(run, true);
  const Output output = damaris({"recover", region.name});
  CHECK(output.status == 0);
  CHECK(output.text == region.name + ": " + std::to_string(written) + " blocks stored, steps 0 to 9, region removed\n");
}

TEST_CASE("recovery stores nothing while spilled data are missing, and says what to do") {
  Run run(kSpills, "<storage>" + Run::kRecorder + "</storage>");
  const std::string spill = run.folder().file("spill"), away = run.folder().file("away");
  const InFolder folder(run.folder().path());
  const auto [region, written] = spill_and_kill(run);
  const std::filesystem::path file = std::filesystem::directory_iterator(spill)->path();
  const bool cut = GENERATE(false, true);
  std::filesystem::copy_file(file, away);
  cut ? std::filesystem::resize_file(file, 0) : static_cast<void>(std::filesystem::remove(file));
  Output output = damaris({"recover", region.name});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("that were spilled to " + file.string()) && Catch::Contains("put it back"));
  CHECK(run.lines("step 0 ").empty());
  const bool gives_up = GENERATE(false, true);
  if (!gives_up) std::filesystem::copy_file(away, file, std::filesystem::copy_options::overwrite_existing);
  output = gives_up ? damaris({"recover", "--give-up-spilled", region.name}) : damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK((output.text.find(" given up, step 0, ") != std::string::npos) == gives_up);
  REQUIRE(run.lines("step 0 ").size() == 1);
  CHECK((run.lines("step 0 ")[0].find("datasets " + std::to_string(written) + " ") != std::string::npos) == !gives_up);
}

}  // namespace damaris::test
