// The checksum of a file, or of a piece of one.
#include "manifest/output_folder.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

#include "codec/checksum.hpp"
#include "support/temp_folder.hpp"

using damaris::manifest::sum_of_file;

TEST_CASE("a sum ends where the file does, whatever an earlier call has left in errno") {
  const damaris::test::TempFolder folder;
  const std::string path = folder.write("file", "0123456789");
  errno = EINTR;
  const auto sum = sum_of_file(path, 2, 100);
  CHECK(sum.bytes == 8);
  CHECK(sum.checksum == damaris::codec::crc32("23456789", 8));
}
