// What a dead server and its clients leave of open steps besides their blocks; which steps a flush takes for given up.
#include "core/shm/steps.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace damaris::shm {
namespace {

constexpr auto kEntries = static_cast<std::int64_t>(kGivenUp);

std::unique_ptr<RegionHeader> new_header() {
  auto header = std::make_unique<RegionHeader>();
  clear_steps(*header);
  return header;
}

TEST_CASE(
    "the times of as many open steps as there are entries are kept, however far apart they are, and settled steps make room") {
  const std::int64_t stride = GENERATE(1, 2, 64, 4096);
  const auto header = new_header();
  const auto count = static_cast<std::int64_t>(kTimes);
  for (std::int64_t k = 0; k < 3 * count; ++k) {
    publish_processed(*header, (k - count) * stride);
    CHECK(record_time(*header, k * stride, static_cast<double>(k)) == kNoStep);
  }
  CHECK(known_times(*header).size() == kTimes);
  for (const auto& [step, time] : known_times(*header)) CHECK(step == static_cast<std::int64_t>(time) * stride);
  CHECK(record_time(*header, 3 * count * stride, 0) == 2 * count * stride);
  CHECK(record_time(*header, 3 * count * stride, 1) == kNoStep);  // again
}

// The one promise: no step that is open is taken for whole when it is not.
TEST_CASE("whatever the order of omissions, each open step has its word, or is not later than the last one without") {
  const unsigned seed = GENERATE(range(0U, 40U));
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
  const auto header = new_header();
  std::map<std::int64_t, bool> drops;
  for (int turn = 0; turn < 300; ++turn) {
    const std::int64_t step = turn + below(150);
    if (step <= last_processed(*header)) continue;
    drops[step] |= below(2) == 0;
    omit(*header, step, drops[step] ? Omission::drop(step) : Omission::one_write(step));
    if (below(5) == 0) publish_processed(*header, std::max(last_processed(*header), turn - below(60)));
  }
  drops.erase(drops.begin(), drops.upper_bound(last_processed(*header)));
  REQUIRE(drops.size() > 10);
  std::size_t words = 0;
  for (const auto& [step, drop] : drops) {
    const Omission word = omission_of(*header, step);
    words += word.is_of(step) ? 1 : 0;
    CHECK((word.is_of(step) ? word.drops() == drop : step <= omitted_until(*header)));
  }
  CHECK(omitted_steps(*header).size() == words);
  CHECK(lost_steps(*header)->last == std::max(omitted_until(*header), drops.rbegin()->first));
  publish_processed(*header, 500);
  CHECK_FALSE(lost_steps(*header));
}

TEST_CASE("impossible numbers in what a dead server left are bounded") {
  const auto header = new_header();
  for (const std::int64_t wrong : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    header->times[0].step = header->given_up[0] = header->forgotten_last = wrong;
    header->forgotten_first = 0;
    CHECK(known_times(*header).empty());
    CHECK_FALSE(lost_steps(*header));
  }
  header->omitted_until = std::numeric_limits<std::int64_t>::max();
  CHECK(lost_steps(*header)->last == kHighestStep);
}

TEST_CASE("the steps that were given up are known, and none between them, up to as many as there are entries") {
  const auto header = new_header();
  const std::vector<std::int64_t> steps = {3, 5, 7, 9, 100, 200, 201, 500, 800};
  std::uint64_t count = 0;
  for (const std::int64_t step : steps) give_up(*header, step, count);
  for (std::int64_t step = 0; step < 1000; ++step)
    CHECK(is_given_up(*header, step) == (std::count(steps.begin(), steps.end(), step) > 0));
}

TEST_CASE(
    "of more steps the oldest become one range: none that was given up is taken for stored, and none before the range is lost") {
  const auto header = new_header();
  std::uint64_t count = 0;
  for (std::int64_t k = 0; k <= kEntries; ++k) give_up(*header, 1000 + 2 * k, count);
  CHECK_FALSE(is_given_up(*header, 500));
  CHECK_FALSE(is_given_up(*header, 1001));
  for (std::int64_t k = kEntries + 1; k < 3 * kEntries; ++k) give_up(*header, 1000 + 2 * k, count);
  for (std::int64_t k = 0; k < 3 * kEntries; ++k) CHECK(is_given_up(*header, 1000 + 2 * k));
  CHECK(is_given_up(*header, 1001));
  CHECK_FALSE(is_given_up(*header, 1000 + 6 * kEntries - 3));
  CHECK_FALSE(is_given_up(*header, 999));
}

}  // namespace
}  // namespace damaris::shm
