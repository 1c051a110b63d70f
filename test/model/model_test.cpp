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

constexpr Mails kIntoEmpty = {0, 2, 2}, kIntoFull = {8, 1, 2};

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

TEST_CASE("a block is never handed out while it is published, and its contents come whole") {
  check_all("blocks", blocks(held_blocks(3, 1)));
  check_all("blocks, two in hand", blocks(held_blocks(3, 2)));
  check_all("blocks, the newest released first", blocks(held_blocks(3, 2, true)));
}

TEST_CASE("an answer comes whole or not at all, and the block comes back either way") { check_all("question", question()); }

TEST_CASE("a client that stops at any access leaves an arena whose walk finds the published blocks") {
  Options options;
  options.mortal = {0};
  check_all("one thread", one_after_the_other(8), options);
  check_all("with a server", blocks(held_blocks(2, 1)), options);
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
