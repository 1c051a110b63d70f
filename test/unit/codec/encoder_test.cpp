#include "codec/encoder.hpp"

#include <zstd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <damaris/error.hpp>
#include <new>
#include <thread>

#include "codec/shuffle.hpp"
#include "contents.hpp"
#include "inflate.hpp"

using namespace damaris::codec;

namespace {

std::atomic<long> allocations{0};

void* allocated(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocated(bytes, static_cast<std::size_t>(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocated(bytes, 16);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

TEST_CASE("every level of deflate is inflated by zlib to the same bytes") {
  std::mt19937 random(21);
  for (int level = 1; level <= 12; ++level) {
    const auto encoder = Encoder::make({Codec::kDeflate, level});
    for (const std::string& kind : kinds_of_contents())
      for (const std::size_t count : {0, 1, 777, 20000}) {
        const Bytes bytes = contents(kind, count * 4, 400, random);
        INFO("level " << level << " " << kind << " " << count);
        REQUIRE(inflated(encoder->encode({bytes.data(), count, 4, 100}), count, 4) == bytes);
      }
  }
}

TEST_CASE("zstd decodes a frame that contains its size to the shuffled bytes") {
  std::mt19937 random(22);
  for (const int level : {1, 3, 19}) {
    const auto encoder = Encoder::make({Codec::kZstd, level});
    for (const std::string& kind : kinds_of_contents())
      for (const std::size_t count : {0, 1, 777, 20000}) {
        const Bytes bytes = contents(kind, count * 8, 800, random);
        const Encoded encoded = encoder->encode({bytes.data(), count, 8, 100});
        REQUIRE(ZSTD_getFrameContentSize(encoded.data, encoded.bytes) == bytes.size());
        Bytes shuffled(bytes.size() + 1), back(bytes.size());
        REQUIRE(ZSTD_decompress(shuffled.data(), shuffled.size(), encoded.data, encoded.bytes) == bytes.size());
        unshuffle(reinterpret_cast<const std::byte*>(shuffled.data()), count, 8, reinterpret_cast<std::byte*>(back.data()));
        REQUIRE(back == bytes);
      }
  }
}

TEST_CASE("a level that does not exist is refused with the codec's name and its levels") {
  for (const Setting& setting :
       {Setting{Codec::kDeflate, 0}, Setting{Codec::kDeflate, 13}, Setting{Codec::kZstd, 0}, Setting{Codec::kZstd, 20}})
    try {
      Encoder::make(setting);
      FAIL("made an encoder of level " << setting.level);
    } catch (const damaris::Error& error) {
      REQUIRE(error.code() == DC_E_CONFIG);
      REQUIRE(error.sentence().find(setting.codec == Codec::kZstd ? "zstd" : "deflate") != std::string::npos);
      REQUIRE(error.sentence().find("from 1") != std::string::npos);
    }
}

TEST_CASE("an encoder allocates for the first chunk and for larger ones only") {
  std::mt19937 random(23);
  const Bytes bytes = contents("smooth", 400000, 1, random);
  for (const Setting& setting : {Setting{Codec::kDeflate, 1}, Setting{Codec::kDeflate, 6}, Setting{Codec::kZstd, 1}}) {
    const auto encoder = Encoder::make(setting);
    encoder->encode({bytes.data(), 100000, 4, 100});
    const long before = allocations;
    for (const std::size_t count : {100000, 5000, 99999}) encoder->encode({bytes.data(), count, 4, 100});
    REQUIRE(allocations == before);
  }
}

TEST_CASE("encoders of two threads do not meet") {
  std::mt19937 random(24);
  const Bytes bytes[2] = {contents("rows", 200000, 200, random), contents("smooth", 200000, 200, random)};
  bool same[2] = {true, true};
  const auto work = [&](int k) {
    const auto encoder = Encoder::make({});
    for (int round = 0; round < 20; ++round)
      same[k] = same[k] && inflated(encoder->encode({bytes[k].data(), 50000, 4, 50}), 50000, 4) == bytes[k];
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  REQUIRE(same[0]);
  REQUIRE(same[1]);
}
