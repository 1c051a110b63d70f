// What another user has put at the name of the manifest, of its lock or of a step's file: the error names it, its owner and the remedy.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <optional>

#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

constexpr uid_t kOther = 65534;

void plant(const std::string& kind, const std::string& path) {
  if (kind == "file") REQUIRE(::mknod(path.c_str(), S_IFREG | 0600, 0) == 0);
  if (kind == "folder") REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  if (kind == "link") REQUIRE(::symlink("/dev/null", path.c_str()) == 0);
  if (kind == "pipe") REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  if (kind == "socket") REQUIRE(::mknod(path.c_str(), S_IFSOCK | 0600, 0) == 0);
  REQUIRE(::lchown(path.c_str(), kOther, kOther) == 0);
}

// In scope this process is a user without privileges, who shares a sticky folder with everybody.
class AsUser {
 public:
  explicit AsUser(const TempFolder& folder) {
    REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
    REQUIRE(::seteuid(54321) == 0);
  }
  ~AsUser() { REQUIRE(::seteuid(0) == 0); }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
};

int store(RunningPlugin& plugin, std::int64_t step) {
  Blocks blocks(step);
  blocks.add(variable_info(0, "fields/v", DC_FLOAT32, 1), 0, {4}, std::vector<float>(4, 1.0F));
  return plugin.on_step(blocks.view());
}

}  // namespace

TEST_CASE(
    "whatever another user has put at the name of the manifest or of its lock is refused with its path, its owner and the remedy") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const std::string kind = GENERATE("file", "folder", "link", "pipe", "socket");
  const char* const name = GENERATE("storm.jsonl", ".storm.lock");
  const char* const exists = GENERATE("overwrite", "append", "refuse");
  INFO(kind << " at " << name << ", exists=" << exists);
  const TempFolder folder;
  plant(kind, folder.file(name));
  ServerOf server(folder, 0, 1, {{"exists", exists}});
  CHECK(server.plugin->init_code == DC_E_NO_OUTPUT);
  CHECK_THAT(server.host.failure, Contains(folder.file(name) + ": ") && Contains("it belongs to user 65534") &&
                                      EndsWith("; have it removed, or choose another basename"));
}

TEST_CASE("a manifest that another user has taken the place of while the run goes on is named with its owner, too") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  REQUIRE(server.store(0) == DC_OK);
  std::filesystem::remove(folder.file("storm.jsonl"));
  plant("folder", folder.file("storm.jsonl"));
  CHECK(server.store(1) != DC_OK);
  CHECK_THAT(server.host.failure, Contains("cannot open the manifest " + folder.file("storm.jsonl")) &&
                                      Contains("it belongs to user 65534; have it removed, or choose another basename"));
  std::filesystem::remove(folder.file("storm.jsonl"));
}

TEST_CASE(
    "a step whose name another user has taken in a sticky folder fails at once with the owner, and the next ones are stored") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const std::string kind = GENERATE("file", "folder", "link");
  INFO(kind);
  const TempFolder folder;
  FakeHost host(Settings{{"basename", folder.file("storm")}});  // retried without limit
  host.place(0, 1);
  const std::string taken = folder.file("storm.node7.s0.i1.h5");
  const std::string why = "cannot rename to " + taken + ": it belongs to user 65534, not to this one; have it removed, or choose ";
  {
    std::optional<AsUser> user(folder);
    RunningPlugin plugin("hdf5", host);
    REQUIRE(store(plugin, 0) == DC_OK);
    user.reset();
    plant(kind, taken);
    user.emplace(folder);
    CHECK(store(plugin, 1) == DC_E_IO);
    CHECK_THAT(host.failure, Contains(why + "a basename in a folder of your own"));
    CHECK(store(plugin, 2) == DC_OK);
    CHECK(plugin.finalize() == DC_OK);
  }
  CHECK_THAT(content(folder.file("storm.jsonl")), Contains(why));
  std::filesystem::remove(taken);
}

TEST_CASE("a recovery leaves a step whose name another user has taken to a later one") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const TempFolder folder;
  plant("file", folder.file("storm.node7.s0.i1.h5"));
  {
    const AsUser user(folder);
    REQUIRE(ServerOf(folder, 0, 1, {}, true, "run1").store(0) == DC_OK);
    ServerOf recovery(folder, 0, 1, {{"exists", "recover"}}, false, "run1");
    CHECK(recovery.store(1) == DC_E_IO);
    CHECK_THAT(recovery.host.failure, Contains("it belongs to user 65534"));
  }
  CHECK_THAT(content(folder.file("storm.jsonl")), !Contains("65534"));  // not recorded as lost
}

TEST_CASE("a start does not promise to remove step files that other users have in a sticky folder") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const bool has_own = GENERATE(false, true);
  const TempFolder folder;
  plant("file", folder.file("storm.node7.s0.i1.h5"));
  std::optional<AsUser> user(folder);
  if (has_own) folder.write("storm.node7.s0.i2.h5", "");
  const ServerOf server(folder, 0, 1);
  user.reset();
  REQUIRE(server.host.lines.size() == (has_own ? 2 : 1));
  CHECK_THAT(server.host.lines[0].second, Contains("1 files in '" + folder.path().string() +
                                                   "' (such as storm.node7.s0.i1.h5, which "
                                                   "belongs to user 65534)") &&
                                              Contains("these steps will not be stored") && !Contains("will be removed"));
  if (has_own)
    CHECK_THAT(server.host.lines[1].second, Contains("1 files of an earlier run") && Contains("(such as storm.node7.s0.i2.h5)") &&
                                                EndsWith("they will be removed when this run stores its first step"));
}
