// What another user has put at the name of the manifest, or of its lock: the error names it, its owner and the remedy.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>

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
