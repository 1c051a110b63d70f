// The choice among ways of copying: each is tried, on whatever is written, and the one that was fastest is kept.
#include "core/shm/copy_choice.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace damaris;
using shm::CopyMethod;

namespace {

// Tells times in units of one way's, as often as it takes.
void decide(shm::CopyChoice& choice, std::uint64_t bytes, double plain, double streamed, double abreast) {
  while (!choice.is_decided(bytes)) {
    const CopyMethod way = choice.next(bytes);
    choice.record(way, bytes, way == CopyMethod::plain ? plain : way == CopyMethod::streamed ? streamed : abreast);
  }
}

}  // namespace

TEST_CASE("each way is tried, and the fastest is kept") {
  constexpr std::uint64_t kBytes = shm::kLargeCopyBytes;
  shm::CopyChoice choice;
  CHECK_FALSE(choice.is_decided(kBytes));
  CHECK(choice.kept(kBytes) == CopyMethod::plain);
  std::vector<unsigned> tries(shm::kCopyMethods.size());
  while (!choice.is_decided(kBytes)) {
    const CopyMethod way = choice.next(kBytes);
    ++tries[static_cast<std::size_t>(way)];
    choice.record(way, kBytes, 1);
  }
  CHECK(tries == std::vector<unsigned>(shm::kCopyMethods.size(), shm::CopyChoice::kTries));
  CHECK(choice.kept(kBytes) == CopyMethod::plain);  // as fast as any other
}

TEST_CASE("the fastest way is kept for each size by itself") {
  shm::CopyChoice choice;
  decide(choice, shm::kLargeCopyBytes, 3, 2, 1);
  decide(choice, 4 * shm::kLargeCopyBytes, 3, 1, 2);
  decide(choice, std::uint64_t{1} << 40, 1, 2, 3);
  CHECK(choice.kept(shm::kLargeCopyBytes) == CopyMethod::streamed_abreast);
  CHECK(choice.kept(2 * shm::kLargeCopyBytes - 1) == CopyMethod::streamed_abreast);
  CHECK_FALSE(choice.is_decided(2 * shm::kLargeCopyBytes));
  CHECK(choice.kept(4 * shm::kLargeCopyBytes) == CopyMethod::streamed);
  CHECK(choice.kept(std::uint64_t{1} << 50) == CopyMethod::plain);  // one class with all that is larger
}

TEST_CASE("one disturbed attempt decides nothing") {
  shm::CopyChoice choice;
  constexpr std::uint64_t kBytes = 1 << 20;
  for (bool first = true; !choice.is_decided(kBytes);) {
    const CopyMethod way = choice.next(kBytes);
    const bool disturbed = first && way == CopyMethod::streamed;
    first = first && !disturbed;
    choice.record(way, kBytes, disturbed ? 100 : way == CopyMethod::streamed ? 1 : 2);
  }
  CHECK(choice.kept(kBytes) == CopyMethod::streamed);
}

TEST_CASE("a program that writes three arrays in turn tries each way on each of them") {
  constexpr std::uint64_t kBytes = 1 << 20;
  shm::CopyChoice choice;
  std::vector<unsigned> tried(3);
  for (std::size_t number = 0; !choice.is_decided(kBytes); ++number) {
    const CopyMethod way = choice.next(kBytes);
    tried[number % 3] |= 1u << static_cast<unsigned>(way);
    choice.record(way, kBytes, 1);
  }
  CHECK(tried == std::vector<unsigned>(3, 0b111));
}
