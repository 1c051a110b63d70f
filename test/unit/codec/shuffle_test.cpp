#include "codec/shuffle.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace damaris::codec;

TEST_CASE("shuffle puts byte b of element i at b * count + i, whatever the instructions, and unshuffle undoes it") {
  std::mt19937 random(41);
  for (const Simd simd : {Simd::kPortable, Simd::kAvx2, Simd::kAvx512})
    for (const std::size_t size : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 40})
      for (const std::size_t count : {0, 1, 15, 16, 31, 32, 63, 64, 65, 200, 1025}) {
        std::vector<std::byte> in(size * count), out(size * count + 1, std::byte{0x5a}), back(size * count);
        for (std::byte& byte : in) byte = static_cast<std::byte>(random());
        shuffle(in.data(), count, size, out.data(), at_most(simd));
        bool right = out.back() == std::byte{0x5a};
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t b = 0; b < size; ++b) right = right && out[b * count + i] == in[i * size + b];
        INFO(name_of(simd) << " " << count << " x " << size);
        REQUIRE(right);
        unshuffle(out.data(), count, size, back.data());
        REQUIRE(back == in);
      }
}
