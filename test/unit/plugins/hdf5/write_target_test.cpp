#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cerrno>
#include <string>

#include "plugins/hdf5/write_target.hpp"
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
