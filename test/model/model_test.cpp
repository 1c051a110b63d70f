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

TEST_CASE("no news of a processed step is lost to a client that goes to sleep") { check_all("flush", flush()); }

TEST_CASE("mails come in order and whole") {
  check_all("mailbox", mailbox(kIntoEmpty));
  check_all("full mailbox", mailbox(kIntoFull));
}

TEST_CASE("a flush that returns has all reports of its step") {
  check_all("reports", reports(kOne));
  check_all("reports, full mailbox", reports(kAllOfFull));
}

TEST_CASE("a block is never handed out while it is published, and its contents come whole, in two steps") {
  check_all("blocks of two steps", blocks(held_blocks(2, 1)));
  check_all("blocks of two steps, two in hand", blocks(held_blocks(2, 2)));
}

TEST_CASE("a block is never handed out while it is published, and its contents come whole", "[long]") {
  check_all("blocks", blocks(held_blocks(3, 1)));
  check_all("blocks, two in hand", blocks(held_blocks(3, 2)));
  check_all("blocks, the newest released first", blocks(held_blocks(3, 2, true)));
}

TEST_CASE("a search finds what was released in a segment that it has seen full") { check_all("segments", segments()); }

TEST_CASE("no more bytes seem used than are, also when an arena is rebuilt during a release") {
  check_all("rebuilding", rebuilding());
}

TEST_CASE("an answer comes whole or not at all, and the block comes back either way") { check_all("question", question()); }

TEST_CASE("a client that stops at any access leaves an arena whose walk finds the published blocks") {
  Options options;
  options.mortal = {0};
  check_all("one thread", one_after_the_other(8), options);
  check_all("with a server", blocks(held_blocks(2, 1)), options);
}

TEST_CASE("no more messages seem to wait than a lane holds") { check_all("waiting", waiting(2)); }

TEST_CASE("jobs and answers cross full rings in order, whole, none lost, and neither side waits for the other") {
  check_all("ring", rings({1, 3, false}));
  check_all("ring of two", rings({2, 3, false}));
  check_all("rings both ways", rings({1, 2, true}));
}

TEST_CASE("neither a client's ring nor the work side's is lost to an intake side that goes to sleep") {
  check_all("intake bell", intake_bell());
}

TEST_CASE("a work side that goes to sleep misses neither a job nor the end of the intake side") {
  check_all("work bell", work_bell(1));
}

TEST_CASE("an intake side that goes to sleep learns that the work side has failed, and why") {
  check_all("failure", work_failure());
}

TEST_CASE("the answers of a look that is counted are in the ring") { check_all("looks", looks()); }

TEST_CASE("a client fills a block again only after the work side has read it", "[long]") { check_all("round trip", round_trip()); }

TEST_CASE("a client that sees how far the server is finds the reports until then") {
  check_all("mail before processed", mail_before(Sign::processed));
  check_all("mail before durable", mail_before(Sign::durable));
  check_all("mail before drained", mail_before(Sign::drained));
}

TEST_CASE("a server that is killed at any access leaves each block stored, or found by recovery with all of its step") {
  Options options;
  options.mortal = {0, 1};
  options.delays = true;
  check_all("settling", settling(), options);
}

TEST_CASE("a server that is killed at any access leaves no step with the time of another one") {
  Options options;
  options.mortal = {0};
  options.delays = true;
  check_all("facts", facts(), options);
}

TEST_CASE("a client that is killed while it omits writes leaves no step of which a recovery does not know that it lacks some") {
  Options options;
  options.mortal = {0};
  options.delays = true;
  check_all("omissions", omissions(false), options);
  check_all("omissions of a later step", omissions(true), options);
}

TEST_CASE("a step that was given up counts as that at every moment, also while later ones push it out of its entry") {
  check_all("given up", given_up(false));
}

TEST_CASE("a step that was stored never counts as given up while the entries change") { check_all("not given up", given_up(true)); }

TEST_CASE("a region that is ready is whole") { check_all("ready", ready()); }

TEST_CASE("the lock of a pool has one owner at a time, and a waiting client gets it") { check_all("pool", pool()); }

TEST_CASE("a slot has one claimer at a time, and an id one slot") {
  check_all("one slot", claims({1, false}));
  check_all("one id", claims({2, true}));
}

TEST_CASE("a client that has attached is whole") { check_all("attaching", attaching()); }

TEST_CASE("a lane that a thread has given back goes on with the next one") { check_all("lane of threads", lane_of_threads()); }

TEST_CASE("a thread that sees an open step sees its parameters") { check_all("step state", step_state()); }

TEST_CASE("an arena can be walked, and its lane looked into, while its client fills it") {
  check_all("walking", walking(false));
  check_all("walking while holes merge", walking(true));
}

TEST_CASE("an event that is pushed before its block is published is noticed") {
  Blocks how;
  how.event_first = true;
  const Outcome outcome = explore(blocks(how));
  INFO(outcome.trace);
  CHECK(outcome.error.find("it was not published") != std::string::npos);
}

TEST_CASE("a release that is counted before the block says so is noticed") {
  Blocks how = held_blocks(2, 1);
  how.release_first = true;
  const Outcome outcome = explore(blocks(how));
  INFO(outcome.trace);
  CHECK_FALSE(outcome.error.empty());
}

}  // namespace
}  // namespace damaris::explorer
