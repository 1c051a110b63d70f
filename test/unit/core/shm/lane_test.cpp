#include "core/shm/lane.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace damaris::shm {
namespace {

using shm::Message;
using shm::MessageKind;

// Memory for one lane, as a region would have it.
struct Ring {
  explicit Ring(std::uint64_t events) : capacity(events), bytes(lane_bytes(events) / kLine) {
    lane = new (bytes.data()) LaneHeader{};
  }
  struct alignas(kLine) Line {
    char bytes[kLine];
  };
  std::uint64_t capacity;
  std::vector<Line> bytes;
  LaneHeader* lane;
};

Message event_of_step(std::int64_t step) {
  Message event = {};
  event.kind = MessageKind::write;
  event.step = step;
  return event;
}

TEST_CASE("events leave a lane in the order in which they entered it, with their position as serial") {
  Ring ring(4);
  LaneWriter writer(ring.lane, ring.capacity);
  LaneReader reader(ring.lane, ring.capacity);
  Message event = {};
  for (std::int64_t step = 0; step < 10; ++step) {
    REQUIRE(writer.try_push(event_of_step(step)));
    const std::uint64_t position = reader.position();
    REQUIRE(reader.try_take(event));
    CHECK(event.step == step);
    CHECK(event.serial == position);
  }
  CHECK(reader.empty());
  CHECK_FALSE(reader.try_take(event));
}

TEST_CASE("an event that was only looked at stays in its lane, for the next reader as well, until it is removed") {
  Ring ring(4);
  LaneWriter writer(ring.lane, ring.capacity);
  LaneReader reader(ring.lane, ring.capacity);
  for (std::int64_t step = 0; step < 4; ++step) REQUIRE(writer.try_push(event_of_step(step)));
  Message event = {};
  REQUIRE(reader.peek(event));
  CHECK(event.step == 0);
  CHECK_FALSE(writer.has_room());
  LaneReader next(ring.lane, ring.capacity);
  REQUIRE(next.peek(event));
  CHECK(event.step == 0);
  next.pop();
  CHECK(writer.has_room());
  REQUIRE(next.peek(event));
  CHECK(event.step == 1);
}

TEST_CASE("a reader looks at the writer's counter only when it has taken what that had announced") {
  Ring ring(4);
  LaneWriter writer(ring.lane, ring.capacity);
  LaneReader reader(ring.lane, ring.capacity);
  for (std::int64_t step = 0; step < 2; ++step) REQUIRE(writer.try_push(event_of_step(step)));
  Message event = {};
  REQUIRE(reader.try_take(event));
  ring.lane->head.store(1'000);  // more than there can be: a look would end the lane
  REQUIRE(reader.try_take(event));
  CHECK(event.step == 1);
  CHECK_FALSE(reader.try_take(event));
  CHECK(reader.damaged());
}

TEST_CASE("a push on a full lane returns false and leaves the lane unchanged") {
  Ring ring(4);
  LaneWriter writer(ring.lane, ring.capacity);
  LaneReader reader(ring.lane, ring.capacity);
  for (std::int64_t step = 0; step < 4; ++step) REQUIRE(writer.try_push(event_of_step(step)));
  CHECK_FALSE(writer.has_room());
  CHECK_FALSE(writer.try_push(event_of_step(99)));
  CHECK(writer.waiting() == 4);
  Message event = {};
  for (std::int64_t step = 0; step < 4; ++step) {
    REQUIRE(reader.try_take(event));
    CHECK(event.step == step);
  }
  CHECK(writer.has_room(4));
}

TEST_CASE("more than half full follows what the reader took") {
  Ring ring(8);
  LaneWriter writer(ring.lane, ring.capacity);
  LaneReader reader(ring.lane, ring.capacity);
  for (std::int64_t step = 0; step < 4; ++step) REQUIRE(writer.try_push(event_of_step(step)));
  CHECK_FALSE(writer.more_than_half_full());
  REQUIRE(writer.try_push(event_of_step(4)));
  CHECK(writer.more_than_half_full());
  Message event = {};
  REQUIRE(reader.try_take(event));
  CHECK_FALSE(writer.more_than_half_full());
}

TEST_CASE("a producer's counter beyond the ring is seen as damage, not read") {
  Ring ring(4);
  LaneReader reader(ring.lane, ring.capacity);
  ring.lane->head.store(4);
  CHECK_FALSE(reader.damaged());  // full
  ring.lane->head.store(5);
  CHECK(reader.damaged());
  ring.lane->head.store(1000);
  Message event = {};
  CHECK(reader.damaged());
  CHECK_FALSE(reader.try_take(event));
}

TEST_CASE("two threads pass a hundred thousand events through a small lane without loss or change of order") {
  constexpr std::int64_t kEvents = 100'000;
  Ring ring(64);
  std::thread producer([&] {
    LaneWriter writer(ring.lane, ring.capacity);
    for (std::int64_t step = 0; step < kEvents;) {
      if (writer.try_push(event_of_step(step)))
        ++step;
      else
        std::this_thread::yield();
    }
  });
  LaneReader reader(ring.lane, ring.capacity);
  Message event = {};
  std::int64_t expected = 0;
  bool in_order = true;
  while (expected < kEvents) {
    if (!reader.try_take(event)) {
      std::this_thread::yield();
      continue;
    }
    in_order = in_order && event.step == expected && event.serial == static_cast<std::uint64_t>(expected);
    ++expected;
  }
  producer.join();
  CHECK(in_order);
  CHECK(reader.empty());
}

}  // namespace
}  // namespace damaris::shm
