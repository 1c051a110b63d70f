// A manifest that the run which writes it cannot have: its locks are lost or held by others, it is moved, or another run begins there.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <fstream>
#include <thread>

#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/plugins/hdf5/read_file.hpp"
#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
namespace fs = std::filesystem;

namespace {

// Without what the shards say, which stay where they are.
std::map<std::int64_t, damaris::manifest::StepEntry> steps_of(const std::string& record) {
  damaris::manifest::Reader reader(record);
  reader.read_on();
  return reader.steps();
}

}  // namespace

TEST_CASE("a manifest that was moved away is begun again beside the files, and the log names the steps in the old one",
          "[unpromised]") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  ServerOf server(folder.file("out/storm"));
  for (const int step : {0, 1}) REQUIRE(server.store(step) == DC_OK);
  const bool in_the_middle = GENERATE(false, true);  // of a view, whose line goes to the manifest
  if (in_the_middle) REQUIRE(server.plugin->on_idle() == DC_AGAIN);
  std::string moved = folder.file("out2/storm.jsonl");
  SECTION("with its folder") {
    std::filesystem::rename(folder.file("out"), folder.file("out2"));
    std::filesystem::create_directory(folder.file("out"));
  }
  SECTION("alone") {
    moved = folder.file("other.jsonl");
    std::filesystem::rename(folder.file("out/storm.jsonl"), moved);
  }
  while (in_the_middle && server.plugin->on_idle() == DC_AGAIN) {
  }
  for (const int step : {2, 3}) REQUIRE(server.store(step) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
  CHECK(steps_of(moved).size() == 2);
  const auto steps = steps_in(folder.file("out/storm.jsonl"));
  CHECK(steps.size() == 2);
  CHECK(steps.count(2) == 1);
  const auto tells = [](const std::pair<int, std::string>& line) {
    return line.first == 1 && line.second.find(
                                  "storm.jsonl was moved or removed: a new one is begun, and only the old one "
                                  "records 2 steps, step 0 to step 1") != std::string::npos;
  };
  CHECK(std::count_if(server.host.lines.begin(), server.host.lines.end(), tells) == 1);
  const auto found = damaris::hdf5::verify(folder.file("out/storm.jsonl"), {});
  CHECK(found.damaged.empty());
  CHECK(found.partial.empty());
  CHECK(ReadFile(folder.file("out/storm.h5")).attribute<std::int64_t>("/", "shown_until")[0] == 3);
}

TEST_CASE("a manifest of an earlier run of the same kind in place of this run's is not continued", "[unpromised]") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  {
    ServerOf earlier(folder.file("out/storm"));
    REQUIRE(earlier.store(0) == DC_OK);
  }
  std::filesystem::rename(folder.file("out"), folder.file("earlier"));
  std::filesystem::create_directory(folder.file("out"));
  ServerOf server(folder.file("out/storm"));
  REQUIRE(server.store(0) == DC_OK);
  std::filesystem::rename(folder.file("out"), folder.file("moved"));
  std::filesystem::rename(folder.file("earlier"), folder.file("out"));
  CHECK(server.store(1) == DC_E_IO);
  CHECK_THAT(server.host.failure, Catch::Contains("it is now that of another run"));
}

TEST_CASE("a run whose folder is removed while a view is written ends with an error, and not by a crash", "[unpromised]") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  ServerOf server(folder.file("out/storm"));
  REQUIRE(server.store(0) == DC_OK);
  REQUIRE(server.plugin->on_idle() == DC_AGAIN);
  std::filesystem::rename(folder.file("out"), folder.file("out2"));
  while (server.plugin->on_idle() == DC_AGAIN) {
  }
  CHECK(server.plugin->finalize() == DC_E_IO);
}

TEST_CASE("the views show the contents of a manifest that had to be begun again", "[unpromised]") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  for (const int step : {0, 1}) REQUIRE(server.store(step) == DC_OK);
  while (server.plugin->on_idle() == DC_AGAIN) {
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().filename() != ".storm.lock") std::filesystem::remove(entry.path());
  for (const int step : {2, 3}) REQUIRE(server.store(step) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
  CHECK(steps_in(folder.file("storm.jsonl")).size() == 2);
  CHECK(ReadFile(folder.file("storm.h5")).attribute<std::int64_t>("/", "shown_until")[0] == 3);
}

TEST_CASE("in place a step does not wait for a process that keeps the lock of the manifest, but is refused and retried") {
  const TempFolder folder;
  FakeHost host(Settings{{"basename", folder.file("storm")}});
  host.place(0, 1);
  host.put_in_place();
  RunningPlugin plugin("hdf5", host);
  REQUIRE(plugin.init_code == DC_OK);
  const auto store = [&] {
    Blocks blocks(0);
    const dc_variable_info_t variable = variable_info(0, "fields/v", DC_FLOAT32, 1);
    blocks.add(variable, 0, {4}, std::vector<float>(4, 1.0F));
    return plugin.on_step(blocks.view());
  };
  const int stopped = ::open(folder.file(".storm.lock").c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_len = 1;
  REQUIRE(::fcntl(stopped, F_OFD_SETLK, &lock) == 0);
  const auto begun = std::chrono::steady_clock::now();
  CHECK(store() == DC_REFUSED);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(15));  // at the start it would wait for 30 s
  CHECK_THAT(host.failure, Catch::Contains("storm.jsonl cannot record step 0 yet: cannot lock " + folder.file(".storm.lock") +
                                           " within 1000 ms: another process holds the lock"));
  ::close(stopped);
  int code = DC_REFUSED;
  while ((code = store()) == DC_REFUSED) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(code == DC_OK);
  CHECK(steps_in(folder.file("storm.jsonl")).size() == 1);
}
