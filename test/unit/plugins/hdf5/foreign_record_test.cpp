// What another user has put at the name of the manifest, of its lock or of a step's file: the error names it, its owner and the remedy.
#include <fcntl.h>
#include <sys/inotify.h>
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

// In scope this process is that of an unprivileged user in a sticky folder that all users share.
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

// Tells whether anybody has read from a file.
class ReadsOf {
 public:
  explicit ReadsOf(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    REQUIRE(::inotify_add_watch(events_, path.c_str(), IN_ACCESS) >= 0);
  }
  ~ReadsOf() { ::close(events_); }
  ReadsOf(const ReadsOf&) = delete;
  ReadsOf& operator=(const ReadsOf&) = delete;
  bool any() const {
    inotify_event event = {};
    return ::read(events_, &event, sizeof event) > 0;
  }

 private:
  int events_;
};

// Sparse, with lines of 200 MB: whoever reads it is busy for minutes.
void plant_large(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  for (off_t line = 1; line <= 5; ++line) REQUIRE(::pwrite(file, "\n", 1, line * 200'000'000) == 1);
  REQUIRE(::fchmod(file, 0644) == 0);
  REQUIRE(::fchown(file, kOther, kOther) == 0);
  ::close(file);
}

int store(RunningPlugin& plugin, std::int64_t step) {
  Blocks blocks(step);
  const dc_variable_info_t variable = variable_info(0, "fields/v", DC_FLOAT32, 1);
  blocks.add(variable, 0, {4}, std::vector<float>(4, 1.0F));
  return plugin.on_step(blocks.view());
}

}  // namespace

TEST_CASE("whatever another user has put at the name of a log or of the lock is refused with its path, its owner and the remedy") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const std::string kind = GENERATE("file", "folder", "link", "pipe", "socket");
  const char* const name = GENERATE("storm.g1.node7.s0.jsonl", ".storm.lock");
  const char* const exists = GENERATE("overwrite", "append", "refuse");
  INFO(kind << " at " << name << ", exists=" << exists);
  const TempFolder folder;
  plant(kind, folder.file(name));
  ServerOf server(folder, 0, 1, {{"exists", exists}});
  CHECK(server.plugin->init_code == DC_E_NO_OUTPUT);
  CHECK_THAT(server.host.failure, Contains(folder.file(name) + ": ") && Contains("it belongs to user 65534") &&
                                      EndsWith("; have it removed, or choose another basename"));
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
  CHECK_THAT(content(folder.file("storm.g1.node7.s0.jsonl")), Contains(why));
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
  CHECK_THAT(content(folder.file("storm.g1.node7.s0.jsonl")), !Contains("65534"));  // not recorded as lost
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

TEST_CASE("nothing is read of what another user has put at a name of the run") {
  if (::geteuid() != 0) {
    WARN("SKIP: only root can give a file to another user");
    return;
  }
  const char* const name = GENERATE("storm.g1.node7.s0.jsonl", ".storm.lock", "storm.h5", "storm.xmf");
  const char* const exists = GENERATE("overwrite", "append", "refuse", "recover");
  INFO(name << ", exists=" << exists);
  const TempFolder folder;
  plant_large(folder.file(name));
  const ReadsOf reads(folder.file(name));
  {
    const AsUser user(folder);
    const ServerOf server(folder, 0, 1, {{"exists", exists}}, true, "run1");
    CHECK(server.plugin->init_code == DC_E_NO_OUTPUT);
    CHECK_THAT(server.host.failure, Contains("belongs to user 65534"));
  }
  CHECK_FALSE(reads.any());
  char byte = 0;
  const int file = ::open(folder.file(name).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::pread(file, &byte, 1, 0) == 1);
  ::close(file);
  CHECK(reads.any());  // it would have been noticed
}
