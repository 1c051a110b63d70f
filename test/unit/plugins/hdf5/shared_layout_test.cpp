// What servers that share a file agree to put into it, and when they write it.
#include "plugins/hdf5/shared/shared_layout.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/shared/box_writer.hpp"
#include "plugins/hdf5/shared/team.hpp"
#include "unit/plugins/fake_host.hpp"

using namespace damaris;
using namespace damaris::hdf5;
using damaris::test::FakeHost;

namespace {

// Three servers, the first of them leads; it is written down which steps a server attends without data.
struct Trio {
  Trio() {
    for (int index = 0; index < 3; ++index) {
      hosts.push_back(std::make_unique<FakeHost>());
      hosts.back()->place(index, 3);
      const auto attend = [this, index](std::int64_t step, const std::string& why_not) {
        why_not.empty() ? attended.push_back({index, step}) : refused.push_back({index, step});
      };
      agreements.push_back(std::make_unique<Agreement>(*hosts.back()->view(), Group{0, 3}, 1000, attend));
    }
  }
  // At `ms` milliseconds after the beginning.
  bool may_write(std::size_t server, std::int64_t number, int ms = 0) {
    dc_step_t step = {};
    step.step = number;
    const Instant now = Instant() + std::chrono::milliseconds(ms);
    agreements[server]->may_write(step, now);
    deliver();
    return agreements[server]->may_write(step, now);
  }
  // What it says instead of writing, "" when it writes.
  std::string objection(std::size_t server, std::int64_t step) {
    try {
      agreements[server]->begin(step);
      return "";
    } catch (const Failure& failure) {
      return failure.what();
    }
  }
  void passed(std::size_t server, std::int64_t step) {
    agreements[server]->passed(step);
    deliver();
  }
  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (std::size_t from = 0; from < hosts.size(); ++from)
        for (const auto& [to, text] : std::exchange(hosts[from]->sent, {})) {
          agreements[static_cast<std::size_t>(to)]->receive(static_cast<int>(from), text);
          any = true;
        }
    }
  }
  std::vector<std::unique_ptr<FakeHost>> hosts;
  std::vector<std::unique_ptr<Agreement>> agreements;
  std::vector<std::pair<int, std::int64_t>> attended, refused;
};

dc_variable_info_t line(bool global) {
  dc_variable_info_t variable = {};
  variable.path = "fields/line";
  variable.type = DC_FLOAT32;
  variable.element_bytes = 4;
  variable.ndims = 1;
  variable.has_global = global ? 1 : 0;
  return variable;
}

Box box(std::int64_t low, std::int64_t high) {
  Box box;
  box.ndims = 1;
  box.low[0] = low;
  box.high[0] = high;
  return box;
}

Offer offer(std::vector<std::int64_t> global, std::vector<OfferedBlock> blocks) {
  Offer made;
  made.variables.push_back({0, std::move(global), std::move(blocks)});
  return made;
}

dc_host_t host_with(const dc_variable_info_t& variable) {
  dc_host_t host = {};
  host.variable_count = 1;
  host.variables = &variable;
  return host;
}

}  // namespace

TEST_CASE("servers with consecutive numbers are a group, led by the first; the last group has the rest") {
  FakeHost host;
  hdf5::Settings settings;
  settings.files = Files::per_group;
  settings.group_size = 3;
  const auto group = [&](int server) {
    host.place(server, 8);
    const Group found = group_of(*host.view(), settings);
    return std::make_pair(found.leader(), found.size);
  };
  for (const int server : {0, 1, 2}) CHECK(group(server) == std::make_pair(0, 3));
  for (const int server : {3, 4, 5}) CHECK(group(server) == std::make_pair(3, 3));
  for (const int server : {6, 7}) CHECK(group(server) == std::make_pair(6, 2));
}

TEST_CASE("servers of a group write when all of them have the step") {
  Trio trio;
  CHECK_FALSE(trio.may_write(0, 4));
  CHECK_FALSE(trio.may_write(2, 4));
  CHECK(trio.may_write(1, 4));
  CHECK(trio.may_write(0, 4));
  CHECK(trio.may_write(2, 4));
  CHECK(trio.attended.empty());
}

TEST_CASE("a server that is past a step, or at its end, takes part in it without data") {
  Trio trio;
  CHECK_FALSE(trio.may_write(1, 4));
  CHECK_FALSE(trio.may_write(2, 7));
  trio.passed(0, std::numeric_limits<std::int64_t>::max());
  CHECK(trio.may_write(1, 4));
  CHECK(trio.attended == std::vector<std::pair<int, std::int64_t>>{{0, 4}, {2, 4}});
  CHECK_FALSE(trio.may_write(2, 7));
  trio.passed(1, 9);
  CHECK(trio.may_write(2, 7));
}

TEST_CASE("a server that is too late is named by all, its step is refused by it too, and the next one is written") {
  Trio trio;
  CHECK_FALSE(trio.may_write(0, 4, 0));
  CHECK_FALSE(trio.may_write(2, 4, 10));
  CHECK_FALSE(trio.may_write(2, 4, 1010));
  CHECK_FALSE(trio.may_write(0, 4, 1000));
  CHECK(trio.may_write(0, 4, 1001));
  CHECK(trio.may_write(2, 4, 1001));
  const std::string sentence = "server 1 did not reach it within 1000 ms, the turn-timeout";
  CHECK(trio.objection(0, 4) == sentence);
  CHECK(trio.objection(2, 4) == sentence);
  CHECK_FALSE(trio.may_write(0, 5, 2000));
  CHECK(trio.may_write(1, 4, 2500));
  CHECK(trio.objection(1, 4) == sentence);
  CHECK_FALSE(trio.may_write(1, 5, 2600));
  CHECK(trio.may_write(2, 5, 2700));
  CHECK(trio.may_write(0, 5, 2700));
  CHECK(trio.objection(1, 5).empty());
  CHECK(trio.attended.empty());
}

TEST_CASE("a silent leader is not waited for either, and what a server gave up is not written by any server") {
  Trio trio;
  CHECK_FALSE(trio.may_write(1, 4, 0));
  CHECK_FALSE(trio.may_write(1, 4, 1500));
  CHECK(trio.may_write(1, 4, 1501));
  CHECK(trio.objection(1, 4) == "server 0, which leads the group, did not start the write within 1000 ms, the turn-timeout");
  CHECK_FALSE(trio.may_write(2, 4, 1600));
  CHECK(trio.may_write(0, 4, 1700));
  CHECK(trio.refused == std::vector<std::pair<int, std::int64_t>>{{1, 4}});
  CHECK(trio.attended.empty());
}

TEST_CASE("a message that does not reach another server is an error in the log, as waiting for that server is useless") {
  Trio trio;
  trio.hosts[1]->connected = false;
  CHECK_FALSE(trio.may_write(1, 4));
  REQUIRE(trio.hosts[1]->lines.size() == 1);
  CHECK(trio.hosts[1]->lines[0].first == 0);
}

TEST_CASE("the range and the largest error of one dataset of several servers are those of all their values") {
  Summary all;
  all.add({});
  CHECK(std::isnan(all.min));
  for (const Summary& one : {Summary{1, 2, 0.5}, Summary{}, Summary{-1, 1, 0.25}, Summary{0, 3, 0.75}}) all.add(one);
  CHECK(all.min == -1);
  CHECK(all.max == 3);
  CHECK(all.error == 0.75);
}

TEST_CASE("a placed variable is one dataset of the declared extents, the lower source wins and the rest are holes") {
  const dc_variable_info_t variable = line(true);
  const dc_host_t host = host_with(variable);
  const SharedLayout layout =
      shared_layout_of({offer({10}, {{1, 0, true, box(4, 8)}}), offer({10}, {{0, 0, true, box(0, 5)}})}, host);
  REQUIRE(layout.datasets.size() == 1);
  const SharedDataset& dataset = layout.datasets[0];
  CHECK(dataset.path == "fields/line");
  CHECK(dataset.whole == box(0, 10));
  CHECK(boxes_of(dataset, 0) == std::vector<Box>{box(5, 8)});
  CHECK(boxes_of(dataset, 1) == std::vector<Box>{box(0, 5)});
  CHECK(dataset.holes == std::vector<Box>{box(8, 10)});
}

TEST_CASE("one block without a position anywhere makes one dataset for each block") {
  const dc_variable_info_t variable = line(false);
  const dc_host_t host = host_with(variable);
  const SharedLayout layout = shared_layout_of({offer({}, {{3, 1, true, box(4, 8)}}), offer({}, {{0, 0, false, box(0, 5)}})}, host);
  REQUIRE(layout.datasets.size() == 2);
  CHECK(layout.datasets[0].path == "fields/line/0");
  CHECK(layout.datasets[1].path == "fields/line/3.1");
  CHECK(boxes_of(layout.datasets[1], 0) == std::vector<Box>{box(4, 8)});
  CHECK(boxes_of(layout.datasets[1], 1).empty());
}

TEST_CASE("of a variable without elements on all servers, each server with blocks of it writes nothing, within the dataset") {
  const bool global = GENERATE(true, false);
  const dc_variable_info_t variable = line(global);
  const dc_host_t host = host_with(variable);
  const std::vector<std::int64_t> whole = global ? std::vector<std::int64_t>{10} : std::vector<std::int64_t>();
  const Offer first = offer(whole, {{0, 0, true, box(7, 7)}, {2, 0, true, box(8, 8)}}),
              last = offer(whole, {{1, 0, true, box(3, 3)}});
  const SharedLayout layout = shared_layout_of({first, Offer(), last}, host);
  REQUIRE(layout.datasets.size() == 1);
  const SharedDataset& dataset = layout.datasets[0];
  CHECK(dataset.whole == (global ? box(0, 10) : box(7, 7)));
  CHECK(boxes_of(dataset, 0) == std::vector<Box>{box(7, 7)});
  CHECK(boxes_of(dataset, 1).empty());
  CHECK(boxes_of(dataset, 2) == std::vector<Box>{global ? box(3, 3) : box(7, 7)});  // never before the dataset
  CHECK(dataset.holes == (global ? std::vector<Box>{box(0, 10)} : std::vector<Box>()));
}

TEST_CASE("a server without elements writes nothing of a variable of which another one has elements") {
  const dc_variable_info_t variable = line(true);
  const dc_host_t host = host_with(variable);
  const SharedLayout layout =
      shared_layout_of({offer({10}, {{0, 0, true, box(2, 4)}}), offer({10}, {{1, 0, true, box(4, 4)}})}, host);
  REQUIRE(layout.datasets.size() == 1);
  CHECK(boxes_of(layout.datasets[0], 1).empty());
}

TEST_CASE("a shared file lists the clients of all servers, and has the first time that one of them has") {
  const dc_variable_info_t variable = line(false);
  const dc_host_t host = host_with(variable);
  std::vector<Offer> offers(3);
  offers[0].clients = {4, 5}, offers[2].clients = {0, 1};
  offers[1].absent = {3}, offers[2].absent = {2};
  offers[0].missing = {5}, offers[2].missing = {1};
  offers[0].never_attached = 2, offers[1].never_attached = 3;
  offers[1].time = 0.5, offers[2].time = 0.75;
  const SharedLayout layout = shared_layout_of(offers, host);
  CHECK(layout.clients == std::vector<std::int32_t>{0, 1, 4, 5});
  CHECK(layout.absent == std::vector<std::int32_t>{2, 3});
  CHECK(layout.missing == std::vector<std::int32_t>{1, 5});
  CHECK(layout.never_attached == 5);
  CHECK(layout.time == 0.5);
  CHECK(shared_layout_of({Offer()}, host).never_attached == 0);
}

TEST_CASE("an offer is restored from its text") {
  const dc_variable_info_t variable = line(true);
  const dc_host_t host = host_with(variable);
  Offer made = offer({10}, {{1, 0, true, box(4, 8)}, {2, 3, true, box(8, 8)}});
  made.clients = {1, 2};
  made.time = 0.5;
  const Offer back = offer_from(to_text(made), host);
  CHECK(back.clients == made.clients);
  CHECK(back.time == made.time);
  REQUIRE(back.variables.size() == 1);
  CHECK(back.variables[0].global == made.variables[0].global);
  REQUIRE(back.variables[0].blocks.size() == 2);
  CHECK(back.variables[0].blocks[1].block == 3);
  CHECK(back.variables[0].blocks[1].box == box(8, 8));
}
