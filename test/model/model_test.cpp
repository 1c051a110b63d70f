// Lane, arena, doorbell and mailbox in every order in which two processes can run, and with every value that they may see.
#include <catch2/catch.hpp>

#include <iostream>

#include "model/scenarios.hpp"

namespace damaris::explorer {
namespace {

void check_all(const char* name, const Make& make, const Options& options = {}) {
  const Outcome outcome = explore(make, options);
  std::cout << name << ": " << outcome.runs << " orders, " << outcome.pruned << " left as equal to others\n";
  INFO(name << ": " << outcome.error << "\n" << outcome.trace);
  CHECK(outcome.error.empty());
}

// The explorer must see what the code would do without this memory order.
void check_needed(const char* name, const Make& make, const std::string& field, Access access) {
  Options options;
  options.weakenings = {{field, access}};
  const Outcome outcome = explore(make, options);
  static const char* const kinds[] = {"loads", "stores", "updates"};
  std::cout << name << " with relaxed " << kinds[static_cast<int>(access)] << " of " << field << ": " << outcome.error << "\n";
  INFO(name << ": relaxed " << kinds[static_cast<int>(access)] << " of " << field << " are not noticed");
  CHECK_FALSE(outcome.error.empty());
}

constexpr Mails kIntoEmpty = {0, 2, 2}, kIntoFull = {8, 1, 2}, kAllOfFull = {8, 1, 9}, kOne = {0, 1, 1};

Blocks held_blocks(int steps, int held, bool last_first = false) {
  Blocks how;
  how.steps = steps;
  how.held = held;
  how.last_first = last_first;
  return how;
}

TEST_CASE("events cross a full lane in order, none lost or doubled, in every order of both sides") { check_all("lane", lane(4)); }

TEST_CASE("no ring of the doorbell is lost to a server that goes to sleep") { check_all("doorbell", doorbell(2)); }

TEST_CASE("no news of room is lost to a client that goes to sleep") { check_all("room", room(3)); }

TEST_CASE("mails come in order and whole") {
  check_all("mailbox", mailbox(kIntoEmpty));
  check_all("full mailbox", mailbox(kIntoFull));
}

TEST_CASE("a flush that returns has all reports of its step") {
  check_all("flush", flush(kOne));
  check_all("flush, full mailbox", flush(kAllOfFull));
}

TEST_CASE("a block is never handed out while it is published, and its contents come whole") {
  check_all("blocks", blocks(held_blocks(3, 1)));
  check_all("blocks, two in hand", blocks(held_blocks(3, 2)));
  check_all("blocks, the newest released first", blocks(held_blocks(3, 2, true)));
}

TEST_CASE("an answer comes whole or not at all, and the block comes back either way") { check_all("question", question()); }

TEST_CASE("a client that stops at any access leaves an arena whose walk finds the published blocks") {
  Options options;
  options.mortal = 0;
  check_all("one thread", one_after_the_other(8), options);
  check_all("with a server", blocks(held_blocks(2, 1)), options);
}

TEST_CASE("every memory order of a lane is needed") {
  check_needed("lane", lane(4), "head", Access::store);
  check_needed("lane", lane(4), "head", Access::load);
  check_needed("lane", lane(4), "tail", Access::store);
  check_needed("lane", lane(4), "tail", Access::load);
}

TEST_CASE("every memory order of sleeping and waking is needed") {
  check_needed("doorbell", doorbell(2), "doorbell", Access::update);
  check_needed("doorbell", doorbell(2), "doorbell", Access::load);
  check_needed("doorbell", doorbell(2), "server_sleeping", Access::store);
  check_needed("doorbell", doorbell(2), "server_sleeping", Access::load);
  check_needed("room", room(3), "clients_waiting", Access::update);
}

TEST_CASE("every memory order of a mailbox is needed") {
  check_needed("mailbox", mailbox(kIntoEmpty), "mail_head", Access::store);
  check_needed("mailbox", mailbox(kIntoEmpty), "mail_head", Access::load);
  check_needed("full mailbox", mailbox(kIntoFull), "mail_tail", Access::store);
  check_needed("full mailbox", mailbox(kIntoFull), "mail_tail", Access::load);
  check_needed("flush", flush(kOne), "last_processed", Access::store);
  check_needed("flush", flush(kOne), "last_processed", Access::load);
  check_needed("flush, full mailbox", flush(kAllOfFull), "mail_waiting", Access::store);
  check_needed("flush, full mailbox", flush(kAllOfFull), "mail_waiting", Access::load);
}

TEST_CASE("every memory order of a release is needed") {
  const Make make = blocks(held_blocks(3, 2, true));
  check_needed("blocks", make, "state", Access::load);
  check_needed("blocks", make, "state", Access::store);
  check_needed("blocks", make, "released", Access::load);
  check_needed("blocks", make, "released", Access::update);
}

TEST_CASE("an event that is pushed before its block is published is noticed") {
  Blocks how;
  how.event_first = true;
  const Outcome outcome = explore(blocks(how));
  INFO(outcome.trace);
  CHECK(outcome.error.find("it was not published") != std::string::npos);
}

TEST_CASE("a release that is counted before the block says so is noticed") {
  Blocks how = held_blocks(3, 1);
  how.release_first = true;
  const Outcome outcome = explore(blocks(how));
  INFO(outcome.trace);
  CHECK_FALSE(outcome.error.empty());
}

}  // namespace
}  // namespace damaris::explorer
