// When what a file system refuses is tried again, with a clock made by hand.
#include "core/base/clock.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

using damaris::Instant;
using damaris::may_be_transient;
using damaris::Retry;

namespace {

constexpr auto ms = [](std::int64_t count) { return Instant(std::chrono::milliseconds(1'000'000 + count)); };

// Tries as often as it may, each try taking `try_ms`; returns when each began, in ms.
std::vector<std::int64_t> tries_of(Retry& retry, std::int64_t since, std::int64_t from, std::int64_t try_ms) {
  std::vector<std::int64_t> begun;
  for (std::int64_t now = from;; ++now) {
    if (retry.resting(ms(now))) continue;
    begun.push_back(now);
    if (!retry.again(ENOSPC, ms(since), ms(now), ms(now + try_ms))) return begun;
    now += try_ms - 1;
  }
}

}  // namespace

TEST_CASE("attempts come at growing intervals up to a second, the last one at the end of the time") {
  Retry retry(3000);
  CHECK(tries_of(retry, 0, 0, 0) == std::vector<std::int64_t>{0, 20, 60, 140, 300, 620, 1260, 2260, 3000});
  CHECK(retry.failed() == 9);
  CHECK(retry.tries_text(ms(3000)) == "9 tries within 3.0 s");
}

TEST_CASE("the time between two attempts is at least that of the first of them") {
  Retry retry(3000);
  CHECK(tries_of(retry, 0, 0, 500) == std::vector<std::int64_t>{0, 1000, 2000, 3000});
}

TEST_CASE("a step that waits behind one that was given up does not get the whole time again, a later one does") {
  Retry retry(3000);
  CHECK(tries_of(retry, 0, 0, 0).back() == 3000);
  retry.next_thing();
  CHECK(tries_of(retry, 100, 3000, 0) == std::vector<std::int64_t>{3000, 3020, 3060, 3100});
  retry.next_thing();
  CHECK(tries_of(retry, 50, 3100, 0) == std::vector<std::int64_t>{3100});
  retry.next_thing();
  CHECK(tries_of(retry, 5000, 5000, 0).back() == 8000);
}

TEST_CASE("after a step is stored the next failure has the whole time") {
  Retry retry(3000);
  CHECK(tries_of(retry, 0, 0, 0).back() == 3000);
  retry.stored();
  CHECK(retry.failed() == 0);
  CHECK(tries_of(retry, 100, 4000, 0).back() == 7000);
}

TEST_CASE("without a window a try is repeated every second for ever") {
  Retry retry(std::nullopt);
  constexpr std::int64_t kDay = 24 * 3600 * 1000;
  Instant now = ms(0);
  for (; now < ms(kDay); now += std::chrono::seconds(1)) REQUIRE(retry.again(ENOSPC, ms(0), now, now));
  CHECK_FALSE(retry.resting(now));
}

TEST_CASE("a time of zero is one attempt") {
  Retry retry(0);
  CHECK(tries_of(retry, 0, 0, 10) == std::vector<std::int64_t>{0});
}

TEST_CASE("only what may pass by itself is retried") {
  for (const int error : {ENOSPC, EDQUOT, EIO, EROFS, ENOENT, ESTALE, ETIMEDOUT, ENOTCONN, EACCES, EPERM, EMFILE, ENFILE})
    CHECK(may_be_transient(error));
  for (const int error : {0, -1, EEXIST, EFBIG, EISDIR, ENAMETOOLONG}) {
    CHECK_FALSE(may_be_transient(error));
    CHECK_FALSE(Retry(3000).again(error, ms(0), ms(0), ms(0)));
  }
}
