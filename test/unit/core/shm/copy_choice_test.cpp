// The choice among ways of copying: each is tried, on whatever is written, and the one that was fastest is kept.
#include "core/shm/copy_choice.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace damaris;
using shm::CopyWay;

namespace {

// Tells times in units of one way's, as often as it takes.
void decide(shm::CopyChoice& choice, std::uint64_t bytes, double plain, double streamed, double abreast) {
  while (!choice.is_decided(bytes)) {
    const CopyWay way = choice.next(bytes);
    choice.tell(way, bytes, way == CopyWay::plain ? plain : way == CopyWay::streamed ? streamed : abreast);
  }
}

}  // namespace

TEST_CASE("each way is tried, and the fastest is kept") {
  constexpr std::uint64_t kBytes = shm::kLargeCopyBytes;
  shm::CopyChoice choice;
  CHECK_FALSE(choice.is_decided(kBytes));
  CHECK(choice.kept(kBytes) == CopyWay::plain);
  std::vector<unsigned> tries(shm::kCopyWays.size());
  while (!choice.is_decided(kBytes)) {
    const CopyWay way = choice.next(kBytes);
    ++tries[static_cast<std::size_t>(way)];
    choice.tell(way, kBytes, 1);
  }
  CHECK(tries == std::vector<unsigned>(shm::kCopyWays.size(), shm::CopyChoice::kTries));
  CHECK(choice.kept(kBytes) == CopyWay::plain);  // as fast as any other
}

TEST_CASE("the fastest way is kept for each size by itself") {
  shm::CopyChoice choice;
  decide(choice, shm::kLargeCopyBytes, 3, 2, 1);
  decide(choice, 4 * shm::kLargeCopyBytes, 3, 1, 2);
  decide(choice, std::uint64_t{1} << 40, 1, 2, 3);
  CHECK(choice.kept(shm::kLargeCopyBytes) == CopyWay::streamed_abreast);
  CHECK(choice.kept(2 * shm::kLargeCopyBytes - 1) == CopyWay::streamed_abreast);
  CHECK_FALSE(choice.is_decided(2 * shm::kLargeCopyBytes));
  CHECK(choice.kept(4 * shm::kLargeCopyBytes) == CopyWay::streamed);
  CHECK(choice.kept(std::uint64_t{1} << 50) == CopyWay::plain);  // one class with all that is larger
}

TEST_CASE("one disturbed try decides nothing") {
  shm::CopyChoice choice;
  constexpr std::uint64_t kBytes = 1 << 20;
  for (bool first = true; !choice.is_decided(kBytes);) {
    const CopyWay way = choice.next(kBytes);
    const bool disturbed = first && way == CopyWay::streamed;
    first = first && !disturbed;
    choice.tell(way, kBytes, disturbed ? 100 : way == CopyWay::streamed ? 1 : 2);
  }
  CHECK(choice.kept(kBytes) == CopyWay::streamed);
}

TEST_CASE("a program that writes three arrays in turn tries each way on each of them") {
  constexpr std::uint64_t kBytes = 1 << 20;
  shm::CopyChoice choice;
  std::vector<unsigned> tried(3);
  for (std::size_t number = 0; !choice.is_decided(kBytes); ++number) {
    const CopyWay way = choice.next(kBytes);
    tried[number % 3] |= 1u << static_cast<unsigned>(way);
    choice.tell(way, kBytes, 1);
  }
  CHECK(tried == std::vector<unsigned>(3, 0b111));
}
