#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "codec/checksum.hpp"
#include "plugins/hdf5/file/hdf5_file.hpp"
#include "support/temp_folder.hpp"

using damaris::hdf5::WriteTarget;
using Kind = WriteTarget::Kind;

namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : id_(::open(path.c_str(), flags, 0600)) { REQUIRE(id_ >= 0); }
  ~Descriptor() { ::close(id_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int id() const { return id_; }

 private:
  int id_;
};

std::string read(WriteTarget& target, std::uint64_t offset, std::size_t size) {
  std::string text(size, '?');
  REQUIRE(target.read(offset, text.data(), size));
  return text;
}

}  // namespace

TEST_CASE("a target writes and reads at an offset, and what was never written reads as zeros") {
  const damaris::test::TempFolder folder;
  const Descriptor file(folder.file("f"), O_RDWR | O_CREAT);
  WriteTarget target(file.id());
  target.write(Kind::raw, 2, "abc", 3);
  target.write(Kind::metadata, 7, "xy", 2);
  CHECK(target.error() == 0);
  CHECK(target.size() == 9);
  CHECK(read(target, 0, 12) == std::string("\0\0abc\0\0xy\0\0\0", 12));
  target.resize(4);
  CHECK(target.size() == 4);
}

TEST_CASE("a single byte is written like any other number of bytes") {
  const damaris::test::TempFolder folder;
  const Descriptor file(folder.file("f"), O_RDWR | O_CREAT);
  WriteTarget target(file.id());
  target.write(Kind::raw, 3, "a", 1);
  CHECK(target.size() == 4);
  CHECK(read(target, 3, 1) == "a");
}

TEST_CASE("a fork does not change the file, and HDF5 can close its copy there") {
  const damaris::test::TempFolder folder;
  const Descriptor file(folder.file("f"), O_RDWR | O_CREAT);
  WriteTarget target(file.id());
  target.write(Kind::metadata, 0, "mine", 4);
  const pid_t child = ::fork();
  if (child == 0) {
    target.write(Kind::raw, 0, "raw!", 4);
    target.write(Kind::metadata, 2, "else", 4);
    target.resize(1);
    char back[4] = "";
    const bool reads = target.read(2, back, 4) && std::string(back, 4) == "else";
    ::_exit(reads && target.error() != 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(read(target, 0, 4) == "mine");
  CHECK(target.size() == 4);
}

TEST_CASE("after a failed write raw data is dropped, metadata reads back, and the first error stays") {
  const damaris::test::TempFolder folder;
  folder.write("f", "0123456789");
  const Descriptor file(folder.file("f"), O_RDONLY);
  WriteTarget target(file.id());
  target.write(Kind::raw, 0, "abc", 3);
  CHECK(target.error() == EBADF);
  target.write(Kind::metadata, 4, "ABCD", 4);
  target.write(Kind::metadata, 6, "xyz", 3);
  target.resize(100);
  CHECK(target.error() == EBADF);
  CHECK(read(target, 0, 10) == "0123ABxyz9");
  CHECK(read(target, 5, 2) == "Bx");
  CHECK(read(target, 8, 6) == std::string("z9\0\0\0\0", 6));
}

TEST_CASE("reserved space reads as zeros until it is written, and is released") {
  const damaris::test::TempFolder folder;
  const Descriptor file(folder.file("f"), O_RDWR | O_CREAT);
  WriteTarget target(file.id());
  target.reserve(1000000);
  CHECK(target.error() == 0);
  CHECK(target.size() == 0);
  target.write(Kind::raw, 6, "abc", 3);
  CHECK(read(target, 4, 8) == std::string("\0\0abc\0\0\0", 8));
  target.trim();
  CHECK(target.size() == 9);
  struct stat facts = {};
  REQUIRE(::fstat(file.id(), &facts) == 0);
  CHECK(facts.st_blocks * 512 < 1000000);
}

TEST_CASE("bytes from several places of memory arrive in order, and the checksum is that of the file") {
  const damaris::test::TempFolder folder;
  std::mt19937 random(75);
  std::vector<std::byte> memory(3 << 20);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{12345}}) {
    const Descriptor file(folder.file("f"), O_RDWR | O_CREAT | O_TRUNC);
    WriteTarget target(file.id());
    target.write_back_early();
    const std::string head(start, 'h');
    if (start > 0) target.write(Kind::metadata, 0, head.data(), head.size());
    std::string expected = head;
    for (int run = 0; run < 40; ++run) {
      const std::byte* data = memory.data() + random() % (1 << 20);
      const std::size_t size = random() % (2 << 20);
      target.write(expected.size(), data, size, damaris::codec::crc32(data, size));
      expected.append(reinterpret_cast<const char*>(data), size);
    }
    REQUIRE(target.error() == 0);
    REQUIRE(read(target, 0, expected.size()) == expected);
    std::uint32_t checksum = 0;
    REQUIRE(target.checksum(checksum));
    REQUIRE(checksum == damaris::codec::crc32(expected.data(), expected.size()));
  }
}
