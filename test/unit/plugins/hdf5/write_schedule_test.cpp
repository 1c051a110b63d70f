// When a server may write: slots of the time between steps, and turns that server 0 gives.
#include "plugins/hdf5/schedule/write_schedule.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>

#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris;
using namespace damaris::hdf5;
using damaris::test::FakeHost;

namespace {

const Instant kStart = std::chrono::steady_clock::now();

Instant after(double seconds) {
  return kStart + std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(seconds));
}

dc_step_t made_step(std::int64_t number, double age_s, bool urgent = false) {
  dc_step_t made = {};
  made.step = number;
  made.age_s = age_s;
  made.urgent = urgent ? 1 : 0;
  return made;
}

// Steps that complete at these times; each is written at once and takes `write_s`.
Slots after_steps(int index, int count, const std::vector<double>& times, double write_s) {
  Slots slots(index, count);
  std::int64_t step = 0;
  for (const double time : times) {
    slots.may_write(made_step(step++, 0), after(time));
    slots.written(write_s);
  }
  return slots;
}

// Servers whose messages go to each other when deliver() is called.
struct Servers {
  Servers(int count, int writers, std::int64_t timeout_ms = 1'000'000) {
    damaris::hdf5::Settings settings;
    settings.writers = writers;
    settings.turn_timeout_ms = timeout_ms;
    for (int index = 0; index < count; ++index) {
      hosts.push_back(std::make_unique<FakeHost>());
      hosts.back()->place(index, count);
      turns.push_back(std::make_unique<Coordinated>(*hosts.back()->view(), settings));
    }
  }
  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (std::size_t from = 0; from < hosts.size(); ++from)
        for (const auto& [to, text] : std::exchange(hosts[from]->sent, {})) {
          turns[static_cast<std::size_t>(to)]->receive(static_cast<int>(from), text);
          any = true;
        }
    }
  }
  // Asks for all servers and returns those that may write.
  std::vector<int> who_may(double time = 0, const std::vector<int>& urgent_ones = {}) {
    std::vector<int> may;
    for (int pass = 0; pass < 2; ++pass) {
      may.clear();
      for (int i = 0; i < static_cast<int>(turns.size()); ++i) {
        const bool urgent = std::count(urgent_ones.begin(), urgent_ones.end(), i) > 0;
        if (turns[static_cast<std::size_t>(i)]->may_write(made_step(1, 0, urgent), after(time))) may.push_back(i);
      }
      deliver();
    }
    return may;
  }
  void written(int index) {
    turns[static_cast<std::size_t>(index)]->written(0);
    deliver();
  }

  std::vector<std::unique_ptr<FakeHost>> hosts;
  std::vector<std::unique_ptr<Coordinated>> turns;
};

}  // namespace

TEST_CASE("the first step has no estimate and no slot") {
  Slots slots(3, 4);
  CHECK(slots.may_write(made_step(0, 0), kStart));
}

TEST_CASE("each server waits for its slot of the time between two steps") {
  for (int index = 0; index < 4; ++index) {
    Slots slots = after_steps(index, 4, {0, 100}, 5);
    CHECK(slots.slot_begins() == Approx(25.0 * index));
    const double early = 25.0 * index - 0.1, late = 25.0 * index + 0.1;
    if (index > 0) CHECK_FALSE(slots.may_write(made_step(9, early), after(200 + early)));
    CHECK(slots.may_write(made_step(9, late), after(200 + late)));
  }
}

TEST_CASE("if writing takes longer than a slot the last server is done by the next step") {
  CHECK(after_steps(3, 4, {0, 100}, 40).slot_begins() == Approx(60));
  CHECK(after_steps(1, 4, {0, 100}, 40).slot_begins() == Approx(20));
  CHECK(after_steps(3, 4, {0, 100}, 100).slot_begins() == 0);
  CHECK(after_steps(3, 4, {0, 100}, 1000).slot_begins() == 0);
}

TEST_CASE(
    "if the time between steps varies the shortest of the last ones counts, and the age of a late one is taken into account") {
  CHECK(after_steps(1, 2, {0, 100, 110, 300}, 1).slot_begins() == Approx(5));
  CHECK(after_steps(1, 2, {0, 1, 101, 201, 301, 401}, 1).slot_begins() == Approx(50));
  Slots slots(1, 2);
  slots.may_write(made_step(0, 0), after(0));
  slots.may_write(made_step(1, 30), after(130));  // taken up 30 s after it was complete
  CHECK(slots.slot_begins() == Approx(50));
}

TEST_CASE("an urgent step does not wait for its slot") {
  Slots slots = after_steps(3, 4, {0, 100}, 5);
  CHECK_FALSE(slots.may_write(made_step(9, 0), after(200)));
  CHECK(slots.may_write(made_step(9, 0, true), after(200)));
}

TEST_CASE("at most the allowed number of servers write at a time, in the order of their requests") {
  for (const int writers : {1, 2}) {
    Servers servers(4, writers);
    std::vector<int> order;
    while (order.size() < 4) {
      const std::vector<int> writing = servers.who_may();
      REQUIRE(static_cast<int>(writing.size()) <= writers);
      const auto is_new = [&](int index) { return std::count(order.begin(), order.end(), index) == 0; };
      const auto next = std::find_if(writing.begin(), writing.end(), is_new);
      REQUIRE(next != writing.end());
      order.push_back(*next);
      servers.written(*next);  // asks again for the next step, and comes last
    }
    CHECK(order == std::vector<int>{0, 1, 2, 3});
  }
}

TEST_CASE("a server releases its turn as soon as its step is stored") {
  const damaris::test::TempFolder folder;
  const damaris::test::ServerOf first(folder, 0, 2);
  damaris::test::ServerOf server(folder, 1, 2, {{"schedule", "coordinated"}, {"turn-timeout-ms", "999999999"}});
  const auto turns = [&] {
    std::vector<std::string> said;
    for (const auto& [to, text] : std::exchange(server.host.sent, {}))
      if (text.rfind(WriteSchedule::kMessages, 0) == 0) said.push_back(text);
    return said;
  };
  CHECK(server.store(4) == DC_WAIT);
  CHECK(turns() == std::vector<std::string>{"turn:request 1"});
  REQUIRE(server.plugin->on_message(0, "turn:grant 1") == DC_OK);
  CHECK(server.store(4) == DC_OK);
  CHECK(turns() == std::vector<std::string>{"turn:done 1"});
}

TEST_CASE("an urgent server is next") {
  Servers servers(4, 1);
  REQUIRE(servers.who_may() == std::vector<int>{0});
  servers.who_may(0, {3});
  servers.written(0);
  CHECK(servers.who_may() == std::vector<int>{3});
}

TEST_CASE("a server that gets no turn in time writes without one and logs that; no early or late answer is lost or counted twice") {
  Servers servers(2, 1, 1000);
  REQUIRE(servers.who_may() == std::vector<int>{0});
  CHECK(servers.who_may(1.1) == std::vector<int>{0, 1});
  REQUIRE_FALSE(servers.hosts[1]->lines.empty());
  CHECK(servers.hosts[1]->lines[0].second == "hdf5: server 1 waited 1000 ms for the grant to write step 1, and writes without it");
  // The turn is given while server 1 says that it needs none any more.
  servers.turns[0]->written(0);
  for (const auto& [to, text] : std::exchange(servers.hosts[0]->sent, {})) servers.turns[0]->receive(0, text);
  servers.turns[1]->written(0);
  servers.deliver();
  for (int round = 0; round < 3; ++round) {
    const std::vector<int> writing = servers.who_may(2);
    REQUIRE(writing.size() == 1);
    servers.written(writing[0]);
  }
}
