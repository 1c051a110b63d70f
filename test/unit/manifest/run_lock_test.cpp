#include "manifest/run_lock.hpp"

#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/failure.hpp"
#include "support/temp_folder.hpp"

namespace {
unsigned long inode_mask = 0;  // by which numbers of paths differ from those of descriptors
bool removes_locks = false;    // as a clean-up that knows no lock would
}  // namespace

// The library's, but as some FUSE and network file systems answer it: what the code under test calls is looked for in the program first.
extern "C" int lstat(const char* path, struct stat* facts) noexcept {
  static const auto real = reinterpret_cast<int (*)(const char*, struct stat*)>(::dlsym(RTLD_NEXT, "lstat"));
  if (removes_locks && std::string(path).find(".lock") != std::string::npos) ::unlink(path);
  const int result = real(path, facts);
  if (result == 0) facts->st_ino ^= inode_mask;
  return result;
}

namespace damaris::manifest {
namespace {

using test::TempFolder;

RunLock lock_of(const std::string& record, const std::string& run, const std::string& member, bool shared = true) {
  return RunLock(record, run, member, shared, std::chrono::milliseconds(20));
}

struct Folder : TempFolder {
  std::string record() const { return file("storm.jsonl"); }
  std::string lock() const { return file(".storm.lock"); }
};

TEST_CASE("a basename belongs to one run until its last process has ended") {
  const Folder folder;
  const bool shared = GENERATE(true, false);
  {
    RunLock first = lock_of(folder.record(), "run a", "node.s0", shared);
    CHECK(first.is_first());
    first.unlock();
    CHECK_THROWS_WITH(lock_of(folder.record(), "run b", "node.s1"), Catch::Contains("another run, which is still running"));
    CHECK_THROWS_WITH(lock_of(folder.record(), "run b", "node.s1", false), Catch::Contains("set DAMARIS_JOB"));
  }
  CHECK_FALSE(std::filesystem::exists(folder.lock()));
  CHECK(lock_of(folder.record(), "run b", "node.s1").is_first());
}

TEST_CASE("processes of one run share its basename, but only one of them is each server") {
  const Folder folder;
  RunLock first = lock_of(folder.record(), "run", "node.s0");
  first.unlock();
  RunLock second = lock_of(folder.record(), "run", "node.s1");
  second.unlock();
  CHECK_FALSE(second.is_first());
  CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s1"), Catch::Contains("already 'node.s1'"));
  CHECK_FALSE(second.take_alone());
}

TEST_CASE("a basename is the same whatever path leads to its folder") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("real"));
  std::filesystem::create_directory_symlink(folder.file("real"), folder.file("link"));
  RunLock first = lock_of(folder.file("real/storm.jsonl"), "run a", "node.s0");
  first.unlock();
  CHECK_THROWS_AS(lock_of(folder.file("link/storm.jsonl"), "run b", "node.s1"), Error);
}

TEST_CASE("on a file system that numbers a file differently by its path a basename is locked, too") {
  const Folder folder;
  inode_mask = 1ul << 40;
  {
    RunLock first = lock_of(folder.record(), "run a", "node.s0");
    CHECK(first.is_first());
    CHECK_FALSE(first.is_gone());
    first.unlock();
    CHECK_THROWS_WITH(lock_of(folder.record(), "run b", "node.s1"), Catch::Contains("another run, which is still running"));
    std::filesystem::remove(folder.lock());
    CHECK(first.is_gone());
  }
  inode_mask = 0;
}

TEST_CASE("a lock file that is removed whenever it is created is an error, and not retried forever", "[unpromised]") {
  const Folder folder;
  removes_locks = true;
  CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s0"), Catch::Contains(folder.lock() + ": it is removed again and again"));
  removes_locks = false;
}

TEST_CASE("a process that holds the lock makes the others wait, but only until their time-out") {
  const Folder folder;
  RunLock first = lock_of(folder.record(), "run", "node.s0");
  CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s1"), Catch::Contains("another process"));
  { const RunLock::Guard within(first); }
  CHECK_THROWS_AS(lock_of(folder.record(), "run", "node.s1"), Failure);  // the outer lock is still held
  first.unlock();
  CHECK_NOTHROW(lock_of(folder.record(), "run", "node.s1"));
}

TEST_CASE("a lock file that others had access to is closed to them again, and the message says that they may hold it") {
  const Folder folder;
  RunLock first = lock_of(folder.record(), "run", "node.s0");
  REQUIRE(::chmod(folder.lock().c_str(), 0644) == 0);
  CHECK_THROWS_AS(lock_of(folder.record(), "run", "node.s1"), Failure);
  struct stat info = {};
  REQUIRE(::stat(folder.lock().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const int reader = ::open(folder.lock().c_str(), O_RDONLY);
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_len = 1;
  first.unlock();
  REQUIRE(::fcntl(reader, F_OFD_SETLK, &lock) == 0);
  REQUIRE(::chmod(folder.lock().c_str(), 0644) == 0);
  CHECK_THROWS_WITH(first.lock(), Catch::Contains("possibly of another user") && Catch::Contains("fuser"));
  ::close(reader);
}

TEST_CASE("no other user can open the lock file, and what others have put in its place is refused at once") {
  const Folder folder;
  SECTION("ours") {
    const RunLock run_lock = lock_of(folder.record(), "run", "node.s0");
    struct stat info = {};
    REQUIRE(::stat(folder.lock().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
  }
  SECTION("a named pipe") {
    REQUIRE(::mkfifo(folder.lock().c_str(), 0666) == 0);
    CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s0"), Catch::Contains("it is not a regular file"));
  }
  SECTION("another user's folder") {
    std::filesystem::create_directory(folder.lock());
    const bool given = ::chown(folder.lock().c_str(), 65534, 65534) == 0;
    CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s0"),
                      Catch::EndsWith(std::string(given ? ": Is a directory; it belongs to user 65534" : ": Is a directory") +
                                      "; have it removed, or choose another basename"));
  }
  SECTION("a link") {
    std::ofstream(folder.file("victim")) << "text";
    std::filesystem::create_symlink(folder.file("victim"), folder.lock());
    CHECK_THROWS_WITH(lock_of(folder.record(), "run", "node.s0"), Catch::Contains("it is a symbolic link"));
    CHECK(std::filesystem::file_size(folder.file("victim")) == 4);
  }
}

TEST_CASE("locks that a killed run has left do not block other runs") {
  const Folder folder;
  std::ofstream(folder.lock()) << "run a";
  std::filesystem::permissions(folder.lock(), std::filesystem::perms(0600));
  CHECK(lock_of(folder.record(), "run b", "node.s0").is_first());
}

}  // namespace
}  // namespace damaris::manifest
