// Which steps a flush takes for given up, also of more runs of them than the header has entries for.
#include "core/shm/given_up.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

using namespace damaris::shm;

TEST_CASE("a step that was given up stays so, and one that was stored never becomes it, up to sixteen runs of them") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  CHECK_FALSE(is_given_up(*header, 0));
  std::uint64_t runs = 0;
  for (std::int64_t step = 0; step < 16 * 10; step += 10) {
    record_given_up(*header, step + 5, false, runs);
    record_given_up(*header, step + 7, true, runs);
  }
  for (std::int64_t step = 0; step < 16 * 10; ++step) CHECK(is_given_up(*header, step) == (step % 10 >= 5 && step % 10 <= 7));
}

TEST_CASE("recovery gets the steps that were given up, and none between them, however they are spaced") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  CHECK(given_up_steps(*header).empty());
  const std::vector<std::int64_t> steps = {3, 5, 7, 9, 100, 200, 201, 500, 800};
  std::uint64_t runs = 0;
  for (const std::int64_t step : steps) record_given_up(*header, step, step != 3 && step != 200, runs);
  CHECK(given_up_steps(*header) == steps);
  for (const std::int64_t step : steps) CHECK(is_given_up(*header, step));
}

TEST_CASE("a run of given-up steps that a stray write has changed makes no endless list") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  std::uint64_t runs = 0;
  record_given_up(*header, 3, false, runs);
  header->given_up[0].stride.store(0);
  CHECK(given_up_steps(*header).empty());
  header->given_up[0].stride.store(1);
  header->given_up[0].last.store(kHighestStep);
  CHECK(given_up_steps(*header).size() <= 1 << 20);
}

TEST_CASE("of more runs the oldest become one range: no step that was given up is taken for stored") {
  const auto header = std::make_unique<RegionHeader>();
  clear_given_up(*header);
  std::uint64_t runs = 0;
  for (std::int64_t step = 1; step < 100; step += 2) record_given_up(*header, step, false, runs);
  for (std::int64_t step = 1; step < 100; step += 2) CHECK(is_given_up(*header, step));
  CHECK_FALSE(is_given_up(*header, 0));
  CHECK(is_given_up(*header, 2));
  CHECK_FALSE(is_given_up(*header, 98));
  CHECK_FALSE(is_given_up(*header, 100));
}
