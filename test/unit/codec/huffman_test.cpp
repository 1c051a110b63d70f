#include "codec/plane_deflate.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace damaris::codec;

namespace {

std::vector<std::uint32_t> frequencies(std::size_t count, int kind, std::mt19937& random) {
  std::vector<std::uint32_t> result(count);
  std::uint32_t a = 1, b = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (kind == 0) result[i] = random() % 1000;
    if (kind == 1) result[i] = random() % 10 == 0 ? random() % 60000 : 0;
    if (kind == 2) result[i] = i < 22 ? a : 0;  // Fibonacci: the longest codes there are
    if (i < 22) b = a + b, a = b - a;
  }
  return result;
}

}  // namespace

TEST_CASE("codes are complete, no longer than allowed, and there for every symbol that occurs") {
  std::mt19937 random(31);
  for (const unsigned limit : {7u, 9u, 12u, 15u})
    for (const std::size_t count : {2, 3, 19, 30, 100, 286})
      for (int kind = 0; kind < 3; ++kind) {
        if (count > (1u << limit)) continue;
        const auto wanted = frequencies(count, kind, random);
        std::vector<std::uint8_t> lengths(count);
        huffman_lengths(wanted.data(), count, limit, lengths.data());
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
          REQUIRE(lengths[i] <= limit);
          if (wanted[i] != 0) REQUIRE(lengths[i] > 0);
          if (lengths[i] != 0) sum += 1u << (limit - lengths[i]);
        }
        REQUIRE(sum == 1u << limit);
      }
}

TEST_CASE("two symbols get a code when none or one occurs") {
  for (const std::uint32_t occurs : {0u, 5u}) {
    const std::uint32_t wanted[4] = {0, 0, occurs, 0};
    std::uint8_t lengths[4];
    huffman_lengths(wanted, 4, 7, lengths);
    int ones = 0;
    for (const std::uint8_t length : lengths) ones += length == 1 ? 1 : 0;
    REQUIRE(ones == 2);
    if (occurs != 0) REQUIRE(lengths[2] == 1);
  }
}

TEST_CASE("a rarer symbol never has the shorter code") {
  std::mt19937 random(32);
  for (const std::size_t count : {3, 19, 32, 33, 286}) {
    const auto wanted = frequencies(count, 0, random);
    std::vector<std::uint8_t> lengths(count);
    huffman_lengths(wanted.data(), count, 12, lengths.data());
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < count; ++k)
        if (wanted[i] != 0 && wanted[i] < wanted[k]) REQUIRE(lengths[i] >= lengths[k]);
  }
}

TEST_CASE("canonical codes are those of the example in the deflate specification") {
  const std::uint8_t lengths[8] = {3, 3, 3, 3, 3, 2, 4, 4};
  std::uint16_t codes[8];
  huffman_codes(lengths, 8, codes);
  const std::uint16_t reversed[8] = {0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111};
  for (int i = 0; i < 8; ++i) REQUIRE(codes[i] == reversed[i]);
}
