// Which steps a flush takes for given up, also of more runs of them than the header has entries for.
#include "core/shm/given_up.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace damaris::shm;

namespace {
constexpr auto kRuns = static_cast<std::int64_t>(kGivenUp);
}

TEST_CASE("a step that was given up stays so, and one that was stored never becomes it, up to as many runs as there are entries") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  header->last_durable.store(kNoStep);
  CHECK_FALSE(is_given_up(*header, 0));
  std::uint64_t runs = 0;
  for (std::int64_t step = 0; step < kRuns * 10; step += 10) {
    record_given_up(*header, step + 5, false, runs);
    record_given_up(*header, step + 7, true, runs);
  }
  for (std::int64_t step = 0; step < kRuns * 10; ++step) CHECK(is_given_up(*header, step) == (step % 10 >= 5 && step % 10 <= 7));
}

TEST_CASE("recovery gets the steps that were given up, and none between them, however they are spaced") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  header->last_durable.store(kNoStep);
  CHECK_FALSE(given_up_unrecorded(*header).any());
  const std::vector<std::int64_t> steps = {3, 5, 7, 9, 100, 200, 201, 500, 800};
  std::uint64_t runs = 0;
  for (const std::int64_t step : steps) record_given_up(*header, step, step != 3 && step != 200, runs);
  CHECK(given_up_unrecorded(*header).steps == steps);
  for (const std::int64_t step : steps) CHECK(is_given_up(*header, step));
  publish_durable(*header, 200);
  CHECK(given_up_unrecorded(*header).steps == std::vector<std::int64_t>{201, 500, 800});
}

TEST_CASE("of more runs than entries recovery gets the range of the oldest, from the last durable step on") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  header->last_durable.store(kNoStep);
  publish_durable(*header, 1);
  std::uint64_t runs = 0;
  for (std::int64_t k = 2; k < 200; ++k) record_given_up(*header, k * k, true, runs);
  const GivenUp found = given_up_unrecorded(*header);
  REQUIRE(found.among);
  CHECK(found.among->first == 4);
  CHECK(found.among->last < found.steps.front());
  CHECK(found.steps.back() == 199 * 199);
  CHECK(found.range()->first == 4);
  publish_durable(*header, found.among->last);
  CHECK_FALSE(given_up_unrecorded(*header).among);
}

TEST_CASE("a run of given-up steps that a stray write has changed makes no endless list") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  header->last_durable.store(kNoStep);
  std::uint64_t runs = 0;
  record_given_up(*header, 3, false, runs);
  header->given_up[0].stride.store(0);
  CHECK_FALSE(given_up_unrecorded(*header).any());
  header->given_up[0].stride.store(1);
  header->given_up[0].last.store(kHighestStep);
  CHECK(given_up_unrecorded(*header).steps.size() <= 1 << 16);
}

TEST_CASE("of more runs the oldest become one range: no step that was given up is taken for stored") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  header->last_durable.store(kNoStep);
  std::uint64_t runs = 0;
  for (std::int64_t step = 1; step < 4 * kRuns; step += 2) record_given_up(*header, step, false, runs);
  for (std::int64_t step = 1; step < 4 * kRuns; step += 2) CHECK(is_given_up(*header, step));
  CHECK_FALSE(is_given_up(*header, 0));
  CHECK(is_given_up(*header, 2));
  CHECK_FALSE(is_given_up(*header, 4 * kRuns - 2));
  CHECK_FALSE(is_given_up(*header, 4 * kRuns));
}
