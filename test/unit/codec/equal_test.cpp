// The comparison of bytes that every processor has, against one byte at a time.
#include "codec/equal.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <vector>

using damaris::codec::PortableEqual;

TEST_CASE("each of 64 bytes is compared with the one at a distance before it") {
  std::mt19937 random(33);
  std::vector<unsigned char> data(64 + 300);
  for (const std::size_t distance : {1, 3, 8, 64, 300})
    for (int round = 0; round < 100; ++round) {
      for (unsigned char& byte : data) byte = static_cast<unsigned char>(random() % 2 == 0 ? 0 : 0x80 + random() % 2);
      const unsigned char* at = data.data() + 300;
      std::uint64_t wanted = 0;
      for (std::size_t k = 0; k < 64; ++k) wanted |= std::uint64_t{at[k] == at[k - distance]} << k;
      REQUIRE(PortableEqual::at(at, distance) == wanted);
    }
}
