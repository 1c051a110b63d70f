// The copy into the region: every byte arrives, and none beside them is touched.
#include "core/shm/stream_copy.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace damaris;

TEST_CASE("an array of any length arrives whole from any address, and nothing beside it is written") {
  constexpr std::size_t kMost = 300'000, kMargin = 64;
  const std::uint64_t bytes = GENERATE(0, 1, 63, 16'383, 16'384, 16'385, 20'000, 65'600, 262'143, 262'144, 262'145, 299'968);
  const std::size_t offset = GENERATE(0, 1, 7, 16, 63);
  std::vector<unsigned char> source(kMost + kMargin);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  struct alignas(64) Target {
    unsigned char bytes[kMost + 2 * kMargin];
  };
  const auto target = std::make_unique<Target>();
  std::memset(target->bytes, 0xa5, sizeof target->bytes);
  const bool streams = GENERATE(false, true);
  (streams ? shm::stream_copy : shm::copy_in)(target->bytes + kMargin, source.data() + offset, bytes);
  CHECK(std::memcmp(target->bytes + kMargin, source.data() + offset, bytes) == 0);
  const std::vector<unsigned char> margin(kMargin, 0xa5);
  CHECK(std::memcmp(target->bytes, margin.data(), kMargin) == 0);
  CHECK(std::memcmp(target->bytes + kMargin + bytes, margin.data(), kMargin) == 0);
}
