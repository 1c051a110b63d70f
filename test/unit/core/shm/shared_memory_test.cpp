// What ADR 1 promises about a region's memory, whatever Boost.Interprocess does for it: which file it is, its mode, its locks.
#include "core/shm/shared_memory.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/shm/dead_regions.hpp"
#include "core/shm/layout.hpp"
#include "support/errors.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;
namespace fs = std::filesystem;

std::string fresh_name() { return region_name("unit", make_nonce(), 0, 0); }
std::string path_of(const std::string& name) { return "/dev/shm" + name; }

// This process's descriptors of the file that has that name now.
std::vector<int> descriptors_of(const std::string& name) {
  struct stat file = {}, open = {};
  REQUIRE(::lstat(path_of(name).c_str(), &file) == 0);
  std::vector<int> descriptors;
  for (int number = 0; number < 1024; ++number)
    if (::fstat(number, &open) == 0 && open.st_dev == file.st_dev && open.st_ino == file.st_ino) descriptors.push_back(number);
  return descriptors;
}

struct Planted {
  std::string name = fresh_name();
  ~Planted() { ::unlink(path_of(name).c_str()); }
};

// Whether what a child of this process does ends with true.
template <class Call>
bool in_child(const Call& call) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(call() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("an object has mode 0600 whatever the umask, the requested size, and one descriptor, closed by exec") {
  const mode_t mask = GENERATE(0, 022, 0777);
  const std::string name = fresh_name();
  const mode_t before = ::umask(mask);
  const auto memory = SharedMemory::create(name, 10 * kPage, kPage);
  ::umask(before);
  struct stat info = {};
  REQUIRE(::stat(path_of(name).c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(info.st_size == 10 * kPage);
  CHECK(static_cast<std::uint64_t>(info.st_blocks) * 512 >= kPage);
  const auto opened = SharedMemory::open(name, 10 * kPage);
  CHECK(opened.size_bytes() == 10 * kPage);
  const std::vector<int> descriptors = descriptors_of(name);
  CHECK(descriptors.size() == 2);  // one of each
  for (const int descriptor : descriptors) CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("whether a region has its name is known, and another region's name is not mistaken for it") {
  const std::string name = fresh_name();
  const auto memory = SharedMemory::create(name, 4096, 0);
  CHECK(memory.has_name());
  SharedMemory::remove(name);
  CHECK_FALSE(memory.has_name());
  const auto other = SharedMemory::create(name, 4096, 0);
  CHECK_FALSE(memory.has_name());
  CHECK(other.has_name());
}

TEST_CASE("what is at a region's name and not a file of this user alone is neither opened nor written") {
  const Planted target, planted;
  const std::string path = path_of(planted.name);
  auto victim = SharedMemory::create(target.name, kPage, kPage);
  std::string why;
  SECTION("a symbolic link") {
    fs::create_symlink(path_of(target.name), path);
    why = "is a symbolic link";
  }
  SECTION("a named pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    why = "is not a regular file";
  }
  SECTION("a folder") {
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    why = "directory";
  }
  const Error opened = error_of([&] { SharedMemory::open(planted.name, 1); });
  CHECK(opened.code() == DC_E_SHM);
  CHECK_THAT(opened.sentence(), Catch::Contains(planted.name) && Catch::Contains(why));
  const Error made = error_of([&] { SharedMemory::create(planted.name, 3 * kPage, kPage); });
  CHECK(made.code() == DC_E_SHM);
  CHECK_THAT(made.sentence(), Catch::Contains("cannot make the region " + planted.name) && Catch::Contains("exists"));
  CHECK(fs::file_size(path_of(target.name)) == kPage);
  CHECK(fs::symlink_status(path).type() != fs::file_type::not_found);
  fs::remove(path);
}

TEST_CASE("a region's name with a lease on its file is not waited for", "[unpromised]") {
  const Planted planted;
  ::close(::open(path_of(planted.name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const int leased = ::open(path_of(planted.name).c_str(), O_RDONLY | O_CLOEXEC);
  const auto handle = std::signal(SIGIO, SIG_IGN);
  if (::fcntl(leased, F_SETLEASE, F_RDLCK) != 0) {
    WARN("SKIP: this file system has no leases");
  } else {
    CHECK_THAT(error_of([&] { SharedMemory::open(planted.name, 1); }).sentence(), Catch::Contains("temporarily unavailable"));
  }
  ::close(leased);
  std::signal(SIGIO, handle);
}

TEST_CASE("a held part stays held when its process opens and closes the object again, and belongs to its open file alone") {
  const std::string name = fresh_name();
  auto memory = SharedMemory::create(name, kPage, 0);
  { const auto again = SharedMemory::open(name, 1); }
  ::close(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC));
  auto other = SharedMemory::open(name, 1);
  CHECK(other.is_held(kServerPart));
  CHECK_FALSE(other.try_lock(kServerPart));
  CHECK(memory.is_held(kServerPart));
  CHECK_FALSE(memory.try_lock(kServerPart));  // nor by another thread of its process
  CHECK(in_child([&] { return SharedMemory::open(name, 1).is_held(kServerPart); }));
  memory.unlock(kServerPart);
  CHECK_FALSE(memory.is_held(kServerPart));
  CHECK(other.try_lock(kServerPart));
  CHECK(memory.is_held(kServerPart));
}

TEST_CASE("a forked child holds no part of its parent's, though it keeps the mapping") {
  const std::string name = fresh_name();
  int held[2], go[2];
  REQUIRE((::pipe(held) == 0 && ::pipe(go) == 0));
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto made = SharedMemory::create(name, kPage, kPage);
    made.disown_name();
    auto opened = SharedMemory::open(name, 1);
    (void)opened.try_lock(kClientParts);
    char byte = 0;
    if (::fork() == 0) {
      ::close(go[1]);
      (void)!::write(held[1], "x", 1);
      (void)!::read(go[0], &byte, 1);  // until the test ends
      ::_exit(static_cast<int>(made.data()[0]) + static_cast<int>(opened.data()[0]));
    }
    ::kill(::getpid(), SIGKILL);
  }
  char byte = 0;
  REQUIRE(::read(held[0], &byte, 1) == 1);
  REQUIRE(::waitpid(parent, nullptr, 0) == parent);
  const auto memory = SharedMemory::open(name, 1);
  CHECK_FALSE(memory.is_held(kServerPart));
  CHECK_FALSE(memory.is_held(kClientParts));
  SharedMemory::remove(name);
  for (const int end : {held[0], held[1], go[0], go[1]}) ::close(end);
}

TEST_CASE("memory without a name belongs to this process alone: a fork gets a copy") {
  auto memory = SharedMemory::make_private(kPage);
  memory.data()[0] = std::byte{1};
  CHECK(in_child([&] {
    const bool copied = memory.data()[0] == std::byte{1};
    memory.data()[0] = std::byte{2};
    return copied;
  }));
  CHECK(memory.data()[0] == std::byte{1});
}

}  // namespace
}  // namespace damaris::shm
