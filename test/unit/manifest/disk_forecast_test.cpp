// How many more steps the file system has room for, and when that is said.
#include "manifest/disk_forecast.hpp"

#include <catch2/catch.hpp>

using damaris::manifest::DiskForecast;

TEST_CASE("room that gets scarce is told at 10, 3 and 1 steps, once each, and when there is enough again") {
  DiskForecast forecast("/out");
  const auto says = [&](std::uint64_t free_mib) { return forecast.stored(2 << 20, free_mib << 20); };
  CHECK(says(20).what == DiskForecast::Tells::nothing);
  const DiskForecast::Said first = says(19);
  CHECK(first.what == DiskForecast::Tells::warning);
  CHECK(first.sentence == "room for 9 more steps in '/out' (19 MiB free, 2 MiB each); free space there, or write less");
  CHECK(says(8).what == DiskForecast::Tells::nothing);
  CHECK(says(5).what == DiskForecast::Tells::warning);
  CHECK(says(25).what == DiskForecast::Tells::nothing);
  CHECK(says(4).what == DiskForecast::Tells::nothing);
  CHECK(says(1).what == DiskForecast::Tells::warning);
  CHECK(says(0).what == DiskForecast::Tells::nothing);
  CHECK(says(40).what == DiskForecast::Tells::relief);
  CHECK(says(19).what == DiskForecast::Tells::warning);
}

TEST_CASE("room is counted in the mean of the last four steps") {
  DiskForecast forecast("/out");
  for (const std::uint64_t bytes : {100'000, 1000, 1000, 1000})
    CHECK(forecast.stored(bytes, 1'000'000).what == DiskForecast::Tells::nothing);
  CHECK(forecast.stored(1000, 10'000).what == DiskForecast::Tells::nothing);
  CHECK(forecast.stored(5000, 10'000).what == DiskForecast::Tells::warning);
}
