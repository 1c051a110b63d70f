#include "codec/checksum.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <random>
#include <vector>

using namespace damaris::codec;

namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937_64 random(73);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint32_t of_zlib(const std::byte* data, std::size_t size, std::uint32_t before) {
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(data), size));
}

}  // namespace

TEST_CASE("checksums are those of zlib for every length, wherever the data begins") {
  const std::vector<std::byte> bytes = random_bytes(6000);
  for (std::size_t size = 0; size < 5500; size += size < 300 ? 1 : 7)
    for (const std::size_t begin : {0, 1, 3, 8, 61})
      if (const std::byte* data = bytes.data() + begin; crc32(data, size) != of_zlib(data, size, 0))
        FAIL(size << " bytes from " << begin);
}

TEST_CASE("checksums of large blocks are those of zlib, and go on from what came before") {
  const std::vector<std::byte> bytes = random_bytes((std::size_t{1} << 20) + 100);
  for (const std::size_t size : {65535, 65536, 65537, 300001, 1 << 20})
    for (const std::uint32_t before : {0U, 1U, 0xdeadbeefU})
      REQUIRE(crc32(bytes.data() + 5, size, before) == of_zlib(bytes.data() + 5, size, before));
}

TEST_CASE("two checksums are joined to that of both parts") {
  const std::vector<std::byte> bytes = random_bytes(20000);
  for (const std::size_t first : {0, 1, 4096, 19999, 20000}) {
    const std::uint32_t a = crc32(bytes.data(), first), b = crc32(bytes.data() + first, bytes.size() - first);
    REQUIRE(crc32_joined(a, b, bytes.size() - first) == crc32(bytes.data(), bytes.size()));
  }
}
