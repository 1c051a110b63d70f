#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "core/base/clock.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/mailbox.hpp"

namespace damaris::shm {
namespace {

TEST_CASE("rule 15: a ring is never lost between the server's check of its lanes and its sleep") {
  constexpr int kRounds = 2000;
  RegionHeader header{};
  std::atomic<int> sent{0};
  std::atomic<int> seen{0};
  std::thread client([&] {
    for (int round = 1; round <= kRounds; ++round) {
      sent.store(round);
      ring_server(header);
      while (seen.load() < round) std::this_thread::yield();
    }
  });
  // With sleeps of a minute, one lost ring would show as a test that takes far longer than its limit.
  const Deadline deadline = Deadline::after_ms(50'000);
  while (seen.load() < kRounds && !deadline.expired()) {
    sleep_as_server(header, 60'000, [&] { return sent.load() > seen.load(); });
    seen.store(sent.load());
  }
  client.join();
  CHECK(seen.load() == kRounds);
}

TEST_CASE("a client that waits is woken by progress") {
  RegionHeader header{};
  std::atomic<bool> done{false};
  std::thread server([&] {
    while (header.clients_waiting.load() == 0) std::this_thread::yield();
    done.store(true);
    notify_progress(header);
  });
  wait_for_progress(header, 10'000, [&] { return done.load(); });
  server.join();
  CHECK(done.load());
  CHECK(header.clients_waiting.load() == 0);
}

TEST_CASE("rule 8: a mailbox gives each message once, in order, keeps room bounded and cuts long sentences") {
  ClientSlot slot{};
  for (std::uint32_t i = 0; i < kMails; ++i) REQUIRE(try_post(slot, i, DC_E_IO, std::string(1000, 'x')));
  CHECK_FALSE(try_post(slot, 99, DC_E_IO, "no room"));
  for (std::uint32_t i = 0; i < kMails; ++i) {
    const auto mail = try_take_mail(slot);
    REQUIRE(mail.has_value());
    CHECK(mail->step == i);
    CHECK(std::string(mail->sentence).size() == sizeof mail->sentence - 1);
  }
  CHECK_FALSE(try_take_mail(slot).has_value());
  CHECK(try_post(slot, 99, DC_E_IO, "room again"));
}

TEST_CASE("a mailbox that counts more mails than it has room for is damaged, and gives none") {
  ClientSlot slot{};
  REQUIRE(try_post(slot, 0, DC_E_IO, "whole"));
  CHECK_FALSE(mailbox_damaged(slot));
  slot.mail_head.store(kMails);
  CHECK_FALSE(mailbox_damaged(slot));
  slot.mail_head.store(GENERATE(kMails + 1, ~std::uint32_t{0}));
  CHECK(mailbox_damaged(slot));
  CHECK_FALSE(try_take_mail(slot).has_value());
  CHECK(slot.mail_tail.load() == 0);
}

}  // namespace
}  // namespace damaris::shm
