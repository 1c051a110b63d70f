#include "codec/plane_deflate.hpp"

#include <catch2/catch.hpp>

#include "contents.hpp"
#include "inflate.hpp"

using namespace damaris::codec;

namespace {

const Simd kAll[] = {Simd::kPortable, Simd::kAvx2, Simd::kAvx512};

bool comes_back(PlaneDeflate& encoder, const Bytes& bytes, std::size_t size, std::uint64_t row) {
  const Encoded encoded = encoder.encode({bytes.data(), bytes.size() / size, size, row});
  return inflated(encoded, bytes.size() / size, size) == bytes && encoded.smaller == (encoded.bytes < bytes.size());
}

}  // namespace

TEST_CASE("zlib inflates every kind of content, element size and length to the same bytes") {
  std::mt19937 random(11);
  for (const Simd simd : kAll) {
    PlaneDeflate encoder(simd);
    for (const std::string& kind : kinds_of_contents())
      for (const std::size_t size : {1, 2, 3, 4, 5, 6, 7, 8, 12, 24})
        for (const std::size_t count : {0, 1, 2, 3, 63, 64, 65, 1000, 4097, 20011}) {
          const std::size_t row = 1 + random() % 100;
          INFO(name_of(simd) << " " << kind << " " << count << " x " << size << " row " << row);
          REQUIRE(comes_back(encoder, contents(kind, count * size, row * size, random), size, row));
        }
  }
}

TEST_CASE("zlib inflates chunks of any length and any row, even if the row is wrong or longer than the window") {
  std::mt19937 random(12);
  PlaneDeflate encoder;
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = 1 + random() % 8, count = random() % (random() % 4 == 0 ? 200000 : 3000);
    const std::uint64_t row = random() % 5 == 0 ? random() % 100000 : random() % 300;
    const std::string& kind = kinds_of_contents()[random() % kinds_of_contents().size()];
    INFO("round " << round << " " << kind << " " << count << " x " << size << " row " << row);
    REQUIRE(comes_back(encoder, contents(kind, count * size, 1 + row * size, random), size, row));
  }
}

TEST_CASE("a row of any length, up to the largest number, gives distances within the window") {
  for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4},
                                  std::uint64_t{32767}, std::uint64_t{32770}, ~std::uint64_t{0}}) {
    const Distances distances = Distances::of_row(row);
    REQUIRE(distances.count >= 1);
    REQUIRE(distances.values[0] == 1);
    for (std::size_t d = 1; d < distances.count; ++d) REQUIRE(distances.values[d] > distances.values[d - 1]);
    REQUIRE(distances.values[distances.count - 1] <= 32768);
  }
}

TEST_CASE("matches found with vector instructions are those found without") {
  std::mt19937 random(13);
  for (const std::string& kind : kinds_of_contents()) {
    Bytes bytes = contents(kind, 10000, 48, random);
    bytes.resize(bytes.size() + 128);
    const Distances distances = Distances::of_row(48);
    for (const std::size_t begin : {0, 64, 100, 5003}) {
      std::vector<std::uint64_t> plain(200), fast(200);
      find_matches(bytes.data(), begin, 10000, distances, plain.data(), Simd::kPortable);
      for (const Simd simd : {Simd::kAvx2, Simd::kAvx512}) {
        find_matches(bytes.data(), begin, 10000, distances, fast.data(), at_most(simd));
        REQUIRE(fast == plain);
      }
    }
  }
}

TEST_CASE("all variants write the same stream") {
  std::mt19937 random(14);
  for (const std::string& kind : kinds_of_contents()) {
    const Bytes bytes = contents(kind, 100000, 4 * 50, random);
    PlaneDeflate plain(Simd::kPortable);
    const Encoded expected = plain.encode({bytes.data(), bytes.size() / 4, 4, 50});
    for (const Simd simd : {Simd::kAvx2, Simd::kAvx512}) {
      PlaneDeflate fast(simd);
      const Encoded encoded = fast.encode({bytes.data(), bytes.size() / 4, 4, 50});
      REQUIRE(encoded.bytes == expected.bytes);
      REQUIRE(std::memcmp(encoded.data, expected.data, expected.bytes) == 0);
    }
  }
}

TEST_CASE("noise is reported as incompressible, and grows by less than 1 part in 100") {
  std::mt19937 random(15);
  const Bytes bytes = contents("noise", 400000, 1, random);
  PlaneDeflate encoder;
  const Encoded encoded = encoder.encode({bytes.data(), bytes.size() / 4, 4, 100});
  REQUIRE_FALSE(encoded.smaller);
  REQUIRE(encoded.bytes < bytes.size() + bytes.size() / 100);
}

TEST_CASE("constants shrink to less than 1 part in 100") {
  const Bytes bytes(400000, 7);
  PlaneDeflate encoder;
  REQUIRE(encoder.encode({bytes.data(), bytes.size() / 4, 4, 100}).bytes < bytes.size() / 100);
}

TEST_CASE("a chunk of 80 MiB comes back") {
  std::mt19937 random(16);
  Bytes bytes(80u << 20);
  const Bytes part = contents("smooth", 1u << 20, 1, random);
  for (std::size_t i = 0; i < bytes.size(); i += part.size()) std::memcpy(bytes.data() + i, part.data(), part.size());
  PlaneDeflate encoder;
  REQUIRE(comes_back(encoder, bytes, 4, 1024));
}
