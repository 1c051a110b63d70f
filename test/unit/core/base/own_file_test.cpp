#include "core/base/own_file.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "support/temp_folder.hpp"

namespace damaris {
namespace {

using test::TempFolder;
namespace fs = std::filesystem;

constexpr uid_t kOther = 65534;

void require_root() {
  if (::geteuid() == 0) return;
  WARN("SKIP: only root can give a file to another user");
}

TEST_CASE("a file that is created is this user's, and an existing one is opened again") {
  const TempFolder folder;
  const int made = open_own(folder.file("a"), O_RDWR | O_CREAT, 0600);
  REQUIRE(made >= 0);
  REQUIRE(::write(made, "text", 4) == 4);
  ::close(made);
  CHECK((fs::status(folder.file("a")).permissions() & fs::perms::all) == fs::perms(0600));
  const int again = open_own(folder.file("a"), O_RDWR | O_CREAT | O_TRUNC);
  REQUIRE(again >= 0);
  ::close(again);
  CHECK(fs::file_size(folder.file("a")) == 0);
  CHECK(open_own(folder.file("a"), O_RDWR | O_CREAT | O_EXCL) == -1);
  CHECK(errno == EEXIST);
  CHECK(open_own(folder.file("b"), O_RDWR) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("a descriptor of ours is at 256 or above, or in the upper half where the program may have fewer") {
  const TempFolder folder;
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  for (const rlim_t most : {rlim_t{40}, before.rlim_cur}) {
    const struct rlimit limit = {most, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const int made = open_own(folder.file("a"), O_RDWR | O_CREAT), found = StoredFileReader(folder.file("a")).descriptor();
    CHECK(std::min(made, found) >= static_cast<int>(std::min(rlim_t{256}, most / 2)));
    CHECK(::fcntl(made, F_GETFD) == FD_CLOEXEC);
    ::close(made);
  }
}

TEST_CASE("a link, a named pipe and a folder in a file's place are refused without waiting, and stay as they are") {
  const TempFolder folder;
  folder.write("victim", "text");
  fs::create_symlink(folder.file("victim"), folder.file("link"));
  fs::create_symlink(folder.file("nowhere"), folder.file("dangling"));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  fs::create_directory(folder.file("folder"));
  for (const int flags : {O_RDONLY, O_RDWR, O_WRONLY | O_CREAT | O_TRUNC})
    for (const char* name : {"link", "dangling", "pipe", "folder"}) {
      INFO(name << " " << flags);
      CHECK(open_own(folder.file(name), flags) == -1);
      CHECK_FALSE(why_not_own(folder.file(name), errno).empty());
    }
  CHECK(fs::file_size(folder.file("victim")) == 4);
  CHECK_FALSE(fs::exists(folder.file("nowhere")));
  CHECK(open_own(folder.file("link"), O_RDWR) == -1);
  CHECK_THAT(why_not_own(folder.file("link"), errno), Catch::Contains("symbolic link"));
}

TEST_CASE("another user's file is refused and not emptied") {
  require_root();
  if (::geteuid() != 0) return;
  const TempFolder folder;
  folder.write("planted", "text");
  REQUIRE(::chown(folder.file("planted").c_str(), kOther, kOther) == 0);
  CHECK(open_own(folder.file("planted"), O_RDWR | O_CREAT | O_TRUNC) == -1);
  CHECK_THAT(why_not_own(folder.file("planted"), errno), Catch::Contains("it belongs to user 65534"));
  CHECK(fs::file_size(folder.file("planted")) == 4);
}

TEST_CASE("a file for reading may be any user's and behind a link, but a named pipe is not waited for") {
  const TempFolder folder;
  folder.write("a", "text");
  fs::create_symlink(folder.file("a"), folder.file("link"));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  char word[8] = {};
  CHECK(StoredFileReader(folder.file("link")).read(word, sizeof word, 1) == 3);
  CHECK(std::string(word) == "ext");
  CHECK_FALSE(StoredFileReader(folder.file("pipe")).is_open());
  CHECK_FALSE(StoredFileReader(folder.file("none")).is_open());
  CHECK(errno == ENOENT);
}

TEST_CASE("what the system generates as it is read is not a file of a run, whatever its type claims") {
  const TempFolder folder;
  for (const char* target : {"/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled"}) {
    if (!fs::is_regular_file(target)) continue;
    INFO(target);
    fs::create_symlink(target, folder.file("link"));
    CHECK_FALSE(StoredFileReader(folder.file("link")).is_open());
    CHECK(errno == EINVAL);
    fs::remove(folder.file("link"));
  }
}

TEST_CASE("a umask that takes rights from the owner does not prevent opening the file again") {
  const TempFolder folder;
  const mode_t before = ::umask(0777);
  const int made = open_own(folder.file("a"), O_CREAT | O_RDWR, 0666);
  ::umask(before);
  REQUIRE(made >= 0);
  struct stat info = {};
  REQUIRE(::fstat(made, &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  ::close(made);
}

TEST_CASE("a file with a lease, which delays every open, is not waited for", "[unpromised]") {
  const TempFolder folder;
  folder.write("a", "text");
  const int leased = ::open(folder.file("a").c_str(), O_RDONLY | O_CLOEXEC);
  const auto handle = std::signal(SIGIO, SIG_IGN);
  if (::fcntl(leased, F_SETLEASE, F_RDLCK) != 0) {
    WARN("SKIP: this file system has no leases");
  } else {
    CHECK(open_own(folder.file("a"), O_RDWR) == -1);
    CHECK(errno == EAGAIN);
  }
  ::close(leased);
  std::signal(SIGIO, handle);
}

TEST_CASE("an own file without permission is to be made writable, not removed") {
  const test::TempFolder folder;
  folder.write("mine", "data");
  CHECK_THAT(why_not_own(folder.file("mine"), EACCES, "choose another name"),
             Catch::EndsWith("; make it writable (chmod u+w, chattr -ia), or choose another name"));
  fs::create_directory(folder.file("folder"));
  CHECK_THAT(why_not_own(folder.file("folder"), EISDIR, "choose another name"),
             Catch::EndsWith("; have it removed, or choose another name"));
}

TEST_CASE("temporary names differ") {
  const TempFolder folder;
  std::string first, second;
  for (std::string* name : {&first, &second}) {
    const int made = make_own(folder.file("t."), *name, O_RDWR, 0600);
    REQUIRE(made >= 0);
    ::close(made);
  }
  CHECK(first != second);
}

TEST_CASE("what anyone could replace is found, at any depth and through links; a sticky folder protects what is ours") {
  const TempFolder folder;
  fs::create_directories(folder.file("top/below"));
  const std::string file = folder.file("top/below/p.so");
  folder.write("top/below/p.so", "");
  CHECK(replaceable_part(file) == "");
  fs::create_symlink(folder.file("top/below"), folder.file("link"));
  const auto open_to_all = [](const std::string& path, mode_t mode) { REQUIRE(::chmod(path.c_str(), mode) == 0); };
  SECTION("the file") {
    open_to_all(file, 0666);
    CHECK(replaceable_part(file) == file);
  }
  SECTION("a folder far above") {
    open_to_all(folder.file("top"), 0777);
    CHECK(replaceable_part(file) == folder.file("top/below"));
    CHECK(replaceable_part(folder.file("link/p.so")) == folder.file("top/below"));
  }
  SECTION("a link on the way that is another user's, from one of ours to another") {
    fs::create_directory(folder.file("shared"));
    fs::create_symlink(folder.file("top/below"), folder.file("shared/theirs"));
    fs::create_symlink(folder.file("shared/theirs"), folder.file("ours"));
    open_to_all(folder.file("shared"), 0777);
    CHECK(replaceable_part(folder.file("ours/p.so")) == folder.file("shared/theirs"));
    CHECK(replaceable_part(folder.file("ours/../below/p.so")) == folder.file("shared/theirs"));
  }
  SECTION("links in a circle") {
    fs::create_symlink(folder.file("one"), folder.file("two"));
    fs::create_symlink(folder.file("two"), folder.file("one"));
    CHECK(replaceable_part(folder.file("one/p.so")) != "");
  }
  SECTION("what is not there, and may be put there by the time it is used") {
    CHECK(replaceable_part(folder.file("top/none.so")) == "");
    open_to_all(folder.file("top"), 01777);
    CHECK(replaceable_part(folder.file("top/none.so")) == folder.file("top/none.so"));
    CHECK(replaceable_part(folder.file("top/none/p.so")) == folder.file("top/none"));
  }
  SECTION("a sticky folder") {
    open_to_all(folder.file("top"), 01777);
    CHECK(replaceable_part(file) == "");
    require_root();
    if (::geteuid() == 0) {
      REQUIRE(::chown(folder.file("top/below").c_str(), kOther, kOther) == 0);
      CHECK(replaceable_part(file) == folder.file("top/below"));
    }
  }
}

}  // namespace
}  // namespace damaris
