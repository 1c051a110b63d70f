// A server whose loop is left by an exception: what it had not stored stays, as after a kill. In a process of its own, so that who
// recovers finds it dead.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>

#include "core/base/format.hpp"
#include "node.hpp"
#include "server/recovery.hpp"

namespace damaris::test {
namespace {

using Throw = std::function<void()>;

// The other servers' messages are the only thing that the loop asks it for at every pass.
class FaultyCoordinator : public server::SingleCoordinator {
 public:
  FaultyCoordinator(const std::atomic<bool>& faulty, Throw fault) : faulty_(faulty), fault_(std::move(fault)) {}
  std::optional<server::Post> next_post() override {
    if (faulty_.load()) fault_();
    return SingleCoordinator::next_post();
  }

 private:
  const std::atomic<bool>& faulty_;
  Throw fault_;
};

model::Model storing_model(const std::string& spill) {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 12 * 1024;
  model.architecture.buffer_timeout_ms = 60'000;  // for the server, which spills
  model.architecture.spill = spill;
  model.architecture.spill_bytes = 1 << 30;
  add_recorder(model, true);
  return model;
}

// Stores step 0, takes all of step 1 and dies of `fault` before that has ended. Returns the sentence that the client hears.
std::string run_until(const Throw& fault, const std::string& region_name, const model::Model& given, int blocks) {
  const auto model = std::make_shared<const model::Model>(given);
  const auto region = server::make_region(*model, "<simulation/>", 1, {region_name, "host", 0, false});
  std::atomic<bool> faulty{false};
  server::Server server(model, region, std::make_unique<FaultyCoordinator>(faulty, fault), {0});
  client::try_claim(*region, 0, 0);
  client::Client client(region, model, 0, 0);
  std::thread loop([&] { server.run(); });
  const auto small = [&](std::int64_t step, int block) { client.write(client.shapes().find("small"), step, block, kFour); };
  small(0, 0);
  client.end_iteration(0);
  client.flush(0, 60'000);
  for (int block = 0; block < blocks; ++block) small(1, block);
  faulty = true;
  loop.join();
  if (given.architecture.spill.empty()) small(1, blocks);  // a write that finds room does not look
  const auto error = error_of([&] { client.end_iteration(1); });
  return error.code() == DC_E_SERVER_LOST ? error.sentence() : "another error: " + error.sentence();
}

void in_child(const std::function<void()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    call();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

// In a child process. Returns what the client heard.
std::string hear(const TempFolder& folder, const Throw& fault, const std::string& region_name, const model::Model& model,
                 int blocks) {
  in_child([&] { folder.write("heard", run_until(fault, region_name, model, blocks)); });
  std::ifstream heard(folder.file("heard"));
  return {std::istreambuf_iterator<char>(heard), {}};
}

bool is_there(const std::string& region) { return std::filesystem::exists("/dev/shm" + region); }

std::size_t spill_files(const TempFolder& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    count += entry.path().extension() == ".spill" ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("an exception that ends the server's loop leaves the region, clients get its cause, and recovery stores the rest") {
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const auto [fault, cause] = GENERATE(table<Throw, std::string>({
      {[] { throw std::bad_alloc(); }, "out of memory"},
      {[] { throw std::runtime_error("two and two are five"); }, "a fault inside Damaris, please report it: two and two are five"},
      {[] { throw Error(DC_E_SHM, "MPI has gone"); }, "MPI has gone"},
      {[] { throw 5; }, "a fault inside Damaris, please report it: an exception of unknown type"},
  }));
  const std::string region = format("/damaris.{}.loop-fault.{}", ::geteuid(), ::getpid());
  const std::string heard = hear(folder, fault, region, storing_model(""), 3);
  CHECK_THAT(heard, Catch::Contains("was ended by a fault; what was published stays in /dev/shm" + region) &&
                        Catch::Contains("'damaris recover' stores it") && Catch::Contains("a fault has ended server 0: " + cause));
  REQUIRE(is_there(region));
  const server::Recovery recovery = server::recover(region);
  CHECK(recovery.stored == 4);
  CHECK(recovery.left == 0);
  CHECK_FALSE(is_there(region));
}

TEST_CASE("a storage that runs out of memory ends its server as a kill does, and recovery stores the step") {
  model::Model model = node_model();
  add_recorder(model, true);
  model.plugins[0].name = "throwing";
  model.plugins[0].library = "damaris_test_throwing.so";
  const std::string name = format("/damaris.{}.storage-fault.{}", ::geteuid(), ::getpid());
  in_child([&] {
    ::setenv("DAMARIS_TEST_NO_MEMORY", "yes", 1);
    Node node(model, 1, name);
    node.start();
    node.client(0).write(node.variable(0, "small"), 2, 0, kFour);
    node.client(0).end_iteration(2);
    const Error error = error_of([&] { node.client(0).flush(2, 60'000); });
    const bool is_ended = node.stop().code == DC_E_MEMORY && shm::state_of(node.region().header()) == shm::RegionState::lost;
    if (!is_ended || error.code() != DC_E_SERVER_LOST) ::_exit(1);
  });
  REQUIRE(is_there(name));
  const server::Recovery recovery = server::recover(name);
  CHECK(recovery.stored == 1);
  CHECK(recovery.left == 0);
  CHECK_FALSE(is_there(name));
}

TEST_CASE("what was spilled before a fault ended the server is there for the recovery, too") {
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const std::string region = format("/damaris.{}.spill-fault.{}", ::geteuid(), ::getpid());
  constexpr int kBlocks = 200;  // of 128 bytes: more than 12 KiB
  hear(
      folder, [] { throw std::bad_alloc(); }, region, storing_model(folder.path().string()), kBlocks);
  REQUIRE(is_there(region));
  REQUIRE(spill_files(folder) == 1);
  const server::Recovery recovery = server::recover(region);
  CHECK(recovery.stored == kBlocks);
  CHECK(recovery.left == 0);
  CHECK(spill_files(folder) == 0);
  CHECK_FALSE(is_there(region));
}

TEST_CASE("a server that is given up before it comes to its end leaves what it holds, and takes an empty region with it") {
  const bool writes = GENERATE(false, true);
  const std::string name = format("/damaris.{}.unserved.{}", ::geteuid(), ::getpid());
  {
    Node node(node_model(), 1, name);
    if (writes) node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
    node.drop_client(0);
    node.server().close();
  }
  CHECK(is_there(name) == writes);
  std::filesystem::remove("/dev/shm" + name);
}

TEST_CASE("a recovery that cannot store the last dataset says so and leaves the region, be the storage failing or not there") {
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const std::string name = format("/damaris.{}.one-left.{}", ::geteuid(), ::getpid());
  model::Model model = node_model();
  add_recorder(model, true, {{"fail_at", "0"}});
  in_child([&] {
    Node node(model, 1, name);
    node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
    node.drop_client(0);
    node.server().close();
  });
  REQUIRE(is_there(name));
  const std::string plugins = std::getenv("DAMARIS_PLUGIN_PATH");
  ::setenv("DAMARIS_PLUGIN_PATH", folder.path().c_str(), 1);
  CHECK(error_of([&] { server::recover(name); }).code() == DC_E_PLUGIN);
  ::setenv("DAMARIS_PLUGIN_PATH", plugins.c_str(), 1);
  REQUIRE(is_there(name));
  const server::Recovery recovery = server::recover(name);
  CHECK(recovery.left == 1);
  CHECK(recovery.stored == 0);
  CHECK(recovery.status.code == DC_E_IO);
  CHECK(is_there(name));
  std::filesystem::remove("/dev/shm" + name);
}

}  // namespace damaris::test
