// The copy into the region: every byte arrives, and none beside them is touched.

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <vector>

#include "core/shm/copy_choice.hpp"

using namespace damaris;
using shm::CopyMethod;

namespace {

constexpr std::size_t kMost = 300'000, kMargin = 64;

struct alignas(64) Target {
  unsigned char bytes[kMost + 2 * kMargin];
};

std::vector<unsigned char> numbers() {
  std::vector<unsigned char> source(kMost + kMargin);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
  return source;
}

template <class Copy>
void check_copy(std::uint64_t bytes, std::size_t offset, Copy&& copy) {
  const std::vector<unsigned char> source = numbers(), margin(kMargin, 0xa5);
  const auto target = std::make_unique<Target>();
  std::memset(target->bytes, 0xa5, sizeof target->bytes);
  copy(target->bytes + kMargin, source.data() + offset, bytes);
  CHECK(std::memcmp(target->bytes + kMargin, source.data() + offset, bytes) == 0);
  CHECK(std::memcmp(target->bytes, margin.data(), kMargin) == 0);
  CHECK(std::memcmp(target->bytes + kMargin + bytes, margin.data(), kMargin) == 0);
}

}  // namespace

TEST_CASE("an array of any length arrives in full from any address, and nothing beside it is written") {
  const std::uint64_t bytes =
      GENERATE(0, 1, 63, 64, 65, 16'383, 16'384, 16'385, 20'000, 65'600, 262'143, 262'144, 262'145, 299'968);
  const std::size_t offset = GENERATE(0, 1, 7, 16, 63);
  SECTION("by each way") {
    const CopyMethod way = GENERATE(from_range(shm::kCopyMethods));
    check_copy(bytes, offset, [way](void* to, const void* from, std::uint64_t length) { shm::copy_by(way, to, from, length); });
  }
  SECTION("while the ways are tried, and afterwards") {
    for (unsigned i = 0; i <= shm::CopyChoice::kTries * shm::kCopyMethods.size(); ++i) check_copy(bytes, offset, shm::copy_in);
  }
}
