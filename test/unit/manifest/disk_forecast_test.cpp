// How many more steps the file system has room for, and when that is said.
#include "manifest/disk_forecast.hpp"

#include <catch2/catch.hpp>

using damaris::manifest::DiskForecast;

TEST_CASE("scarce disk space is reported at 10, 3 and 1 steps, once each, and when there is enough again") {
  DiskForecast forecast("/out");
  const auto notice_at = [&](std::uint64_t free_mib) { return forecast.stored(2 << 20, free_mib << 20); };
  CHECK(notice_at(20).kind == DiskForecast::NoticeKind::none);
  const DiskForecast::Notice first = notice_at(19);
  CHECK(first.kind == DiskForecast::NoticeKind::warning);
  CHECK(first.sentence == "room for 9 more steps in '/out' (19 MiB free, 2 MiB each); free space there, or write less");
  CHECK(notice_at(8).kind == DiskForecast::NoticeKind::none);
  CHECK(notice_at(5).kind == DiskForecast::NoticeKind::warning);
  CHECK(notice_at(25).kind == DiskForecast::NoticeKind::none);
  CHECK(notice_at(4).kind == DiskForecast::NoticeKind::none);
  CHECK(notice_at(1).kind == DiskForecast::NoticeKind::warning);
  CHECK(notice_at(0).kind == DiskForecast::NoticeKind::none);
  CHECK(notice_at(40).kind == DiskForecast::NoticeKind::relief);
  CHECK(notice_at(19).kind == DiskForecast::NoticeKind::warning);
}

TEST_CASE("disk space is counted in steps of the mean size of the last four") {
  DiskForecast forecast("/out");
  for (const std::uint64_t bytes : {100'000, 1000, 1000, 1000})
    CHECK(forecast.stored(bytes, 1'000'000).kind == DiskForecast::NoticeKind::none);
  CHECK(forecast.stored(1000, 10'000).kind == DiskForecast::NoticeKind::none);
  CHECK(forecast.stored(5000, 10'000).kind == DiskForecast::NoticeKind::warning);
}
