// What a recovery writes is what the dead server would have written: files, record, views.
#include "core/shm/region.hpp"
#include "core/shm/steps.hpp"
#include "recover.hpp"

namespace damaris::test {
namespace {

std::string storage(const std::string& more = "") {
  return "<storage><hdf5 basename='out/x' reduce='deflate'" + more + "/></storage>";
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::string values_of(const std::string& file) {
  Process h5dump({"h5dump", file}, true);
  std::string text;
  for (std::string line; !(line = h5dump.line()).empty();) text += line + "\n";
  return text;
}

// As long as it lives the region has a name that nobody looks for.
class Elsewhere {
 public:
  explicit Elsewhere(const std::string& region) : region_("/dev/shm" + region), aside_("/dev/shm/aside" + region.substr(1)) {
    std::filesystem::rename(region_, aside_);
  }
  ~Elsewhere() { std::filesystem::rename(aside_, region_); }

 private:
  std::string region_, aside_;
};

// All logs of the run out/x.
std::string logs_in(const std::filesystem::path& out, const std::string& stem = "x") {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(out))
    if (entry.path().filename().string().rfind(stem + ".g", 0) == 0) text += text_of(entry.path());
  return text;
}

}  // namespace

TEST_CASE("recovery adds to the run: the files, the manifest, the master file, and verify accepts all of it") {
  Run run("<clients count='1'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  shm::FoundRegion region;
  {
    const InFolder folder(run.folder().path());
    region = kill_with_data(run);
  }
  run.drop(0);
  CHECK(count(logs_in(run.folder().file("out")), "\"step\":") == 1);
  Output output = damaris({"verify", run.folder().file("out/x")});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::EndsWith("INCOMPLETE: 1 step, 0; the run has not ended\n"));
  CHECK_THAT(output.text, Catch::Contains("unstored " + region.name + ": ") && Catch::Contains("'damaris recover " + region.name));
  output = damaris({"recover", region.name});
  INFO(output.text);
  CHECK(output.status == 0);

  const std::string record = logs_in(run.folder().file("out"));
  CHECK(count(record, "\"run\":") == 1);
  CHECK(count(record, "\"recovered\":true") == 2);  // the step, and the end of the server
  CHECK(count(record, "\"complete\":true") == 2);
  output = damaris({"verify", run.folder().file("out/x")});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::EndsWith(": all as recorded\nINCOMPLETE: 2 steps, 0 to 1; the run has lost clients\n"));
  for (const auto& entry : std::filesystem::directory_iterator(run.folder().file("out")))
    if (entry.path().string().find(".i1.h5") != std::string::npos)
      CHECK_THAT(values_of(entry.path()), Catch::Contains("1, 1, 1, 1, 1"));
  CHECK_THAT(values_of(run.folder().file("out/x.h5")), Catch::Contains("1, 1, 1, 1, 1"));
}

TEST_CASE("damaris verify says whether a run goes on, was killed or has ended, and a killed one is kept") {
  Run run("<clients count='1'/>", storage());
  const std::string out = run.folder().file("out/x");
  std::filesystem::create_directory(run.folder().file("out"));
  const auto verified = [&](int status, const std::string& last) {
    const Output output = damaris({"verify", out});
    CHECK(output.status == status);
    CHECK_THAT(output.text, Catch::EndsWith(": all as recorded\n" + last + "\n"));
  };
  const InFolder folder(run.folder().path());
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  verified(3, "STILL RUNNING: 1 step, 0 so far");
  // A step is durable before the views show it; the kill must come after both.
  REQUIRE(wait_until([&] { return std::filesystem::exists(out + ".h5") && std::filesystem::exists(out + ".xmf"); }));
  const shm::FoundRegion region = run.region();
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  run.drop(0);
  verified(1, "INCOMPLETE: 1 step, 0; the run has not ended");
  const auto rerun = [&](const std::string& more) {
    std::ofstream(run.config()) << Run::xml("<clients count='1'/><buffer stale='recover'/>", storage(more));
    return run.client(1)("init 0");
  };
  const Answer refused = rerun("");
  CHECK(refused.code == DC_E_NO_OUTPUT);
  CHECK_THAT(refused.sentence, Catch::Contains("has an earlier run that has not ended"));
  verified(1, "INCOMPLETE: 1 step, 0; the run has not ended");
  run.drop(1);
  REQUIRE(rerun(" exists='append' restart='out/x'").code == DC_OK);
  for (const char* command : {"read 0", "write 1", "end 1", "finalize"}) run.client(1).must(command);
  REQUIRE(run.ends());
  verified(0, "COMPLETE: 2 steps, 0 to 1");
}

TEST_CASE("the blocks of a partial step are counted as the client wrote them, and the step is named once") {
  Run run("<clients count='1'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  client.must("write 1");
  run.drop(0);
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  CHECK(damaris({"recover", region.name}).text == region.name + ": 1 block stored, step 1, recorded as partial, region removed\n");
}

TEST_CASE("a step of which all writes were refused is named by verify and recover --list, and recorded by a recovery") {
  Run run("<clients count='1'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  TestClient& client = run.attached(0);
  for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  const shm::FoundRegion region = run.region();
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  run.drop(0);
  shm::omit(shm::Region::attach(region.name).header(), 5, GENERATE(shm::Omission::drop(5), shm::Omission::one_write(5)));
  Output output = damaris({"verify", "out/x"});
  INFO(output.text);
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("unstored " + region.name + ": ") && Catch::Contains("step 5"));
  CHECK_THAT(damaris({"verify", "--json", "out/x"}).text, Catch::Contains(region.name));
  output = damaris({"recover", "--list", region.name});
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains("data of step 5 were left out") && !Catch::Contains("nothing that was not stored"));
  CHECK(TestClient(run.config())("init 0").code == DC_E_STALE_REGION);
  output = damaris({"recover", region.name});
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains("0 blocks, step 5 recorded as partial, region removed"));
  output = damaris({"verify", "out/x"});
  CHECK(output.status == 1);
  CHECK_THAT(output.text, Catch::Contains("partial  step 5: "));
}

TEST_CASE("verify names a region of its run that it could not look at") {
  Run run("<clients count='1'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  shm::Region::attach(region.name).header().abi = shm::kAbi + 1;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify", "out/x"}, std::vector<std::string>{"verify", "--json", "out/x"}}) {
    const Output output = damaris(words);
    INFO(output.text);
    CHECK(output.status == 1);
    CHECK_THAT(output.text, Catch::Contains(region.name) && Catch::Contains("the Damaris that made it"));
  }
}

TEST_CASE("recovery refuses to mix its data with another run's, and stores them elsewhere on request") {
  Run run("<clients count='1'/><buffer stale='discard'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  {
    const Elsewhere hidden(region.name);  // another job, on a node that has not got the region
    Run other("<clients count='1'/>", storage(" exists='overwrite'"));
    TestClient& client = other.attached(0);
    for (const char* command : {"write 1", "end 1", "finalize"}) client.must(command);
    CHECK(other.ends());
  }
  const std::string before = logs_in("out");
  Output output = damaris({"recover", region.name});
  CHECK(output.status == 1);
  CHECK_THAT(output.text,
             Catch::Contains("out/x' has the manifest of another run") && Catch::Contains("damaris recover --basename"));
  CHECK(logs_in("out") == before);
  output = damaris({"recover", "--basename", "out/rest", region.name});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(logs_in("out", "rest"), Catch::Contains("\"job\":\"" + run.job() + "\""));
  CHECK_THAT(damaris({"verify", "out/rest"}).text, Catch::Contains(": all as recorded\n"));
  CHECK(damaris({"verify", "out/x"}).status == 0);
}

TEST_CASE(
    "rule 16: a simulation that is submitted again, as another job, is refused, or recovers into the manifest and goes on behind") {
  const std::string appending = storage(" exists='append'");
  Run run("<clients count='1'/>", appending);
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  {
    Run refused("<clients count='1'/>", appending);
    const Answer answer = refused.client(0)("init 0");
    CHECK(answer.code == DC_E_STALE_REGION);
    CHECK_THAT(answer.sentence, Catch::Contains("'damaris recover " + region.name + "'"));
  }
  Run again("<clients count='1'/><buffer stale='recover'/>", appending);
  TestClient& client = again.attached(0);
  CHECK(run.regions().empty());
  for (const char* command : {"write 2", "end 2", "finalize"}) client.must(command);
  CHECK(again.ends());
  const std::string record = logs_in("out");
  CHECK(count(record, "\"run\":") == 2);
  CHECK(count(record, "\"step\":") == 3);
  CHECK(count(record, "\"recovered\":true") == 2);  // a step, and the end of the dead server
  const Output output = damaris({"verify", "out/x"});
  INFO(output.text);
  CHECK(output.status == 0);
  CHECK_THAT(output.text, Catch::Contains("x: 3 steps"));
}

TEST_CASE("a recovery that cannot write leaves the data in the region; the next one stores them") {
  Run run("<clients count='1'/>", storage());
  std::filesystem::create_directory(run.folder().file("out"));
  const InFolder folder(run.folder().path());
  const shm::FoundRegion region = kill_with_data(run);
  run.drop(0);
  std::filesystem::rename("out", "away");
  std::ofstream("out") << "a file where the folder was";
  CHECK(damaris({"recover", region.name}).status == 1);
  CHECK(run.regions() == std::vector<std::string>{"/dev/shm" + region.name});
  std::filesystem::remove("out");
  std::filesystem::rename("away", "out");
  CHECK(damaris({"recover", region.name}).status == 0);
  CHECK_THAT(damaris({"verify", "out/x"}).text, Catch::Contains(": all as recorded\n"));
}

}  // namespace damaris::test
