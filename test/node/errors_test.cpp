#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/shm/dead_regions.hpp"
#include "core/shm/server_facts.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

TEST_CASE(
    "rule 8: a storage error reaches the end of the step or the flush with its message, once, and later steps are durable again") {
  model::Model model = node_model();
  add_recorder(model, true, {{"fail_at", "1"}});
  Node node(model, 1);
  node.start();
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  Status report = node.client(0).end_iteration(1);  // a quick server has reported it by then
  if (report.code == DC_OK) report = node.client(0).flush(1, 60'000);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message == "plugin 'recorder' failed at step 1: it was asked to fail at this step");
  CHECK(node.client(0).status().last_durable == 0);
  CHECK(node.client(0).end_iteration(2).code == DC_OK);
  CHECK(node.client(0).flush(2, 60'000).code == DC_OK);
  CHECK(node.client(0).status().last_complete == 2);
  CHECK(node.client(0).status().last_durable == 2);
  // The step itself is never reported as durable.
  const Status again = node.client(0).flush(1, 60'000);
  CHECK(again.code == DC_E_EARLIER_IO);
  CHECK(again.message == "step 1 is not durable, or not as a whole: it was given up, as an earlier call has said");
  CHECK(node.client(0).flush(0, 60'000).code == DC_OK);
  CHECK(node.client(0).status().first_error == DC_E_IO);
  CHECK(node.stop().code == DC_E_IO);
}

TEST_CASE("rule 8: finalize returns the errors that were not yet reported") {
  model::Model model = node_model();
  add_recorder(model, true, {{"fail_at", "0"}});
  Node node(model, 1);
  node.start();
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  const Status report = node.client(0).finalize();
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message.find("it was asked to fail at this step") != std::string::npos);
}

TEST_CASE("rule 4: a client that waits for a server that is blocked in a plugin gets its name, and loses nothing") {
  model::Model model = node_model();
  add_event(model, "slow", {DC_SCOPE_CORE}, "hold");
  add_recorder(model);
  Node node(model, 1);
  node.start();
  node.client(0).signal("slow", 0);
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).end_iteration(0);
  const Deadline deadline = Deadline::after_ms(60'000);
  const auto is_held = [&] { return shm::busy_with(node.region().header()).what.find("action 'hold'") == 0; };
  while (!is_held() && !deadline.expired()) std::this_thread::yield();
  const Error error = error_of([&] { node.client(0).flush(0, 200); });
  CHECK(error.code() == DC_E_TIMEOUT);
  CHECK(error.sentence().find("in action 'hold' of damaris_test_recorder.so on event 'slow' of step 0 for ") != std::string::npos);
  node.folder().write("log.go", "");
  CHECK(node.client(0).flush(0, 20'000).code == DC_OK);
  CHECK(node.lines("small:0.0=16:10").size() == 1);
}

TEST_CASE("rule 7: a client that comes after the server has given up is refused, and the run continues without it") {
  model::Model model = node_model();
  model.architecture.attach_timeout_ms = 0;
  add_recorder(model);
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const auto shared = std::make_shared<model::Model>(model);
  const auto region = server::make_region(*shared, "<simulation/>", 2, {"", "host", 0, false});
  server::Server server(shared, region, std::make_unique<server::SingleCoordinator>(), {0, 1});
  client::try_claim(*region, 0, 0);
  client::Client early(region, shared, 0, 0);
  while (server.poll() || server.first_failure().code == DC_OK) {
  }
  CHECK(server.first_failure().code == DC_E_TIMEOUT);
  CHECK_FALSE(client::try_claim(*region, 1, 1));
  early.end_iteration(0);
  while (server.poll()) {
  }
  CHECK(early.status().last_complete == 0);
  std::ifstream log(folder.file("log.s0"));
  std::string line;
  std::getline(log, line);
  CHECK(line == "step 0 complete 1 time -1 datasets 0 absent:0 never_attached:1");
}

TEST_CASE("a client that ends while it attaches leaves its slot and its id to the next one, whatever it had done") {
  const std::string name = shm::region_name("node", shm::make_nonce(), 0, 0);
  const auto region = server::make_region(node_model(), "<simulation/>", 2, {name, "host", 0, false});
  const auto in_child = [&](auto&& call) {
    const pid_t child = ::fork();
    if (child == 0) {
      shm::Region mine = shm::Region::attach(name);
      call(mine);
      ::kill(::getpid(), SIGKILL);
    }
    CHECK(::waitpid(child, nullptr, 0) == child);
  };
  in_child([](shm::Region& mine) { client::try_claim(mine, 1, 7); });
  CHECK(client::try_claim(*region, 0, 7));
  CHECK_FALSE(client::try_claim(*region, 0, 8));
  CHECK(client::try_claim(*region, 1, 8));
  CHECK_FALSE(client::try_claim(*region, 1, 9));
  client::free_slot(*region, 1);
  in_child([](shm::Region& mine) { mine.memory().try_lock(shm::kClientParts + 1); });  // dead before all else
  CHECK(client::try_claim(*region, 1, 9));
  // Dead after it was attached: its place is the server's to give up.
  client::free_slot(*region, 1);
  in_child([](shm::Region& mine) {
    client::try_claim(mine, 1, 9);
    client::try_attach(mine.slot(1));
  });
  CHECK_FALSE(client::try_claim(*region, 1, 9));
}

TEST_CASE("if a stopping server did not take a client's end, the client's error says that its last calls came too late") {
  model::Model model = node_model();
  model.architecture.attach_timeout_ms = 100;  // this server never sees it
  Node node(model, 1);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 0, 0, kFour) == DC_OK);
  std::thread stopping([&] {
    const Deadline deadline = Deadline::after_ms(20'000);
    const shm::LaneHeader* lane = node.region().lane(0);
    while (lane->head.load() < 2 && !deadline.expired()) std::this_thread::yield();
    node.region().slot(0).state.store(static_cast<std::uint32_t>(shm::SlotState::dead));
  });
  const Error error = error_of([&] { (void)node.client(0).finalize(); });
  stopping.join();
  CHECK(error.code() == DC_E_SERVER_LOST);
  CHECK_THAT(error.sentence(), Catch::Contains("does not serve client 0 any more") &&
                                   Catch::Contains("the last 1 writes and signals of client 0 came too late"));
}

TEST_CASE("if a server was killed after it had given up a client, the client's error says what came too late") {
  const auto model = std::make_shared<model::Model>(node_model());
  const std::string name = shm::region_name("node", shm::make_nonce(), 0, 0);
  const std::shared_ptr<shm::Region> region = server::make_region(*model, "<simulation/>", 1, {name, "host", 0, false});
  region->set_ready();
  REQUIRE(client::try_claim(*region, 0, 0));
  client::Client client(region, model, 0, 0);
  const bool given_up = GENERATE(true, false);
  CHECK(client.write(client.shapes().find("small"), 0, 0, kFour) == DC_OK);
  if (given_up) region->slot(0).state.store(static_cast<std::uint32_t>(shm::SlotState::dead));
  region->memory().unlock(shm::kServerPart);
  const Error error = error_of([&] { (void)client.end_iteration(0); });
  CHECK(error.code() == DC_E_SERVER_LOST);
  CHECK_THAT(error.sentence(), Catch::Contains("is gone"));
  CHECK((error.sentence().find("the last 1 writes and signals of client 0 came too late") != std::string::npos) == given_up);
}

TEST_CASE("a damaged lane ends its client, not the server") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 2);
  node.client(1).write(node.variable(1, "small"), 0, 0, kFour);
  shm::LaneHeader* lane = node.region().lane(0);
  SECTION("an event of no known kind") {
    shm::ring_of(lane)[0] = {};
    lane->head.store(1);
  }
  SECTION("a counter beyond the ring") { lane->head.store(1u << 20); }
  while (node.server().poll()) {
  }
  CHECK(node.server().first_failure().code == DC_E_CLIENT_LOST);
  CHECK(node.server().first_failure().message.find("the lane of client 0 is damaged") == 0);
  const Status report = node.client(1).end_iteration(0);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message.find("the lane of client 0 is damaged") == 0);
  while (node.server().poll()) {
  }
  CHECK(node.lines("small:1.0=16:10 missing:0").size() == 1);
}

TEST_CASE("a header with a false size, variable or extents is refused and the rest goes on") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).write(node.variable(0, "small"), 0, 1, kFour);
  auto* block = reinterpret_cast<shm::BlockHeader*>(node.region().at(node.region().span(0).arena_offset));
  SECTION("size") { block->size_bytes = 1ull << 40; }
  SECTION("bytes") { block->data_bytes = 1ull << 40; }
  SECTION("variable") { block->variable = 1000; }
  SECTION("extents") { shm::Lists(*block, {1, 0}).extents()[0] = -4; }
  SECTION("too many dimensions") { block->ndims = GENERATE(DC_MAX_DIMS + 1, 255); }
  SECTION("unknown lists") { block->flags = GENERATE(16, 128); }
  SECTION("missing lists") { block->flags = shm::kHasPosition | shm::kHasGlobal | shm::kHasGhost; }
  SECTION("source") { block->source = 17; }
  SECTION("state") { block->state = 77; }
  std::string why, name = block->variable == 1000 ? "a dataset" : "'small'";
  SECTION("overwritten") {
    block->magic = 0;
    name = "a dataset";
  }
  SECTION("place") {
    name = "a dataset";
    shm::ring_of(node.region().lane(0))[0].block_offset = GENERATE(std::uint64_t{64}, ~std::uint64_t{0} << 20);
    why = "it lies outside the client's arena";
  }
  node.client(0).end_iteration(0);
  while (node.server().poll()) {
  }
  CHECK(node.server().first_failure().message.find(name + " of client 0 in step 0 was refused: " + why) != std::string::npos);
  CHECK(node.lines("datasets 1 small:0.1=16:10 refused:1 ").size() == 1);  // so the storage knows that the step is not whole
  CHECK(node.client(0).end_iteration(1).code == DC_E_EARLIER_IO);
  CHECK(node.client(0).end_iteration(2).code == DC_OK);
}

TEST_CASE("of many refused blocks the first and the number are reported to the storage") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 1);
  constexpr int kBlocks = 50;
  for (const std::int64_t step : {0, 1})
    for (int block = 0; block < kBlocks; ++block) node.client(0).write(node.variable(0, "small"), step, block, kFour);
  const shm::LaneSpan span = node.region().span(0);
  shm::walk_arena(node.region().at(span.arena_offset), span.arena_bytes,
                  [](shm::BlockHeader& block, std::uint64_t) { block.data_bytes = block.step == 0 ? 17 : block.data_bytes; });
  node.client(0).end_iteration(1);
  while (node.server().poll()) {
  }
  CHECK(node.lines("datasets 0 absent:0 refused:21 ").size() == 1);
  CHECK(node.lines("datasets 50").size() == 1);
}

TEST_CASE("a slot whose id another client has, or that has none, is not served, and the others are") {
  model::Model model = node_model();
  add_recorder(model);
  Node node(model, 2);
  node.region().slot(1).id.store(GENERATE(0, -1));
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).end_iteration(0);
  while (node.server().poll()) {
  }
  CHECK(node.region().slot(1).state.load() == static_cast<std::uint32_t>(shm::SlotState::dead));
  CHECK(node.lines("step 0 complete 1 time -1 datasets 1 small:0.0=16:10").size() == 1);
}

TEST_CASE("the server writes only within the original region, whatever a client writes into the header") {
  Node node(node_model(), 1);
  auto* spans = reinterpret_cast<shm::LaneSpan*>(node.region().at(node.region().header().spans_offset));
  node.client(0).write(node.variable(0, "small"), 0, 0, kFour);
  node.client(0).end_iteration(0);
  spans[0] = {~0ull, ~0ull, ~0ull, ~0ull};
  node.region().header().slots_offset = ~0ull;
  while (node.server().poll()) {
  }
  CHECK(node.region().lane(0)->released.load() > 0);
  CHECK(node.server().first_failure().code == DC_OK);
}

TEST_CASE("a step number that is impossible ends its lane") {
  Node node(node_model(), 1);
  shm::LaneWriter lane(node.region().lane(0), node.region().lane_messages());
  shm::Message event = {};
  event.kind = shm::MessageKind::end_iteration;
  event.step = std::numeric_limits<std::int64_t>::max();
  lane.try_push(event);
  while (node.server().poll()) {
  }
  CHECK(node.server().first_failure().message.find("the lane of client 0 is damaged (there is no step 9223372036854775807)") == 0);
}

TEST_CASE("the death of a client process is detected, its published data are kept, the step lists it as missing") {
  model::Model model = node_model();
  add_recorder(model);
  const std::string name = shm::region_name("node", shm::make_nonce(), 0, 0);
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const auto shared = std::make_shared<model::Model>(model);
  const auto region = server::make_region(*shared, "<simulation/>", 2, {name, "host", 0, false});
  server::Server server(shared, region, std::make_unique<server::SingleCoordinator>(), {0, 1});
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mine = std::make_shared<shm::Region>(shm::Region::attach(name));
    client::try_claim(*mine, 0, 0);
    auto* client = new client::Client(mine, shared, 0, 0);
    (void)client->write(client->shapes().find("small"), 0, 0, kFour);
    ::_exit(0);  // no finalize, no destructor
  }
  client::try_claim(*region, 1, 1);
  client::Client other(region, shared, 1, 1);
  CHECK(::waitpid(child, nullptr, 0) == child);
  other.end_iteration(0);
  const Deadline deadline = Deadline::after_ms(10'000);
  while (other.status().last_complete < 0 && !deadline.expired()) server.poll();
  CHECK(server.first_failure().code == DC_E_CLIENT_LOST);
  std::ifstream log(folder.file("log.s0"));
  std::string line;
  std::getline(log, line);
  CHECK(line == "step 0 complete 1 time -1 datasets 1 small:0.0=16:10 absent:1 missing:0");
  const Status report = other.flush(0, 1000);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(report.message.find("client 0 died") == 0);
}

TEST_CASE(
    "a client that the server takes for dead gets that error at its next step, and its finalize does not report that all is "
    "well") {
  Node node(node_model());
  client::Client& client = node.client(0);
  REQUIRE(client.write(node.variable(0, "small"), 0, 0, kFour) == DC_OK);
  REQUIRE(client.end_iteration(0).code == DC_OK);
  REQUIRE(node.client(1).end_iteration(0).code == DC_OK);
  shm::Message end = {};
  end.kind = shm::MessageKind::finalize;
  REQUIRE(shm::LaneWriter(node.region().lane(0), node.region().lane_messages()).try_push(end));
  const auto state = [&] { return static_cast<shm::SlotState>(node.region().slot(0).state.load()); };
  node.start();
  const Deadline deadline = Deadline::after_ms(30'000);
  while (state() != shm::SlotState::drained && !deadline.expired()) std::this_thread::yield();
  REQUIRE(state() == shm::SlotState::drained);
  CHECK(error_of([&] { client.write(node.variable(0, "small"), 1, 0, kFour); }).code() == DC_E_SERVER_LOST);
  CHECK(error_of([&] { client.end_iteration(1); }).code() == DC_E_SERVER_LOST);
  CHECK(error_of([&] { client.flush(0, 100); }).code() == DC_E_SERVER_LOST);
  CHECK(error_of([&] { client.finalize(); }).code() == DC_E_SERVER_LOST);
}

TEST_CASE("what a client had published before it died is stored, even if it is more than the server takes at a time") {
  constexpr int kBlocks = 600;
  model::Model model = node_model();
  add_recorder(model);
  const std::string name = shm::region_name("node", shm::make_nonce(), 0, 0);
  const TempFolder folder;
  ::setenv("DAMARIS_TEST_LOG", folder.file("log").c_str(), 1);
  const auto shared = std::make_shared<model::Model>(model);
  const auto region = server::make_region(*shared, "<simulation/>", 1, {name, "host", 0, false});
  server::Server server(shared, region, std::make_unique<server::SingleCoordinator>(), {0});
  const pid_t child = ::fork();
  if (child == 0) {
    const auto mine = std::make_shared<shm::Region>(shm::Region::attach(name));
    client::try_claim(*mine, 0, 0);
    auto* client = new client::Client(mine, shared, 0, 0);
    for (int block = 0; block < kBlocks; ++block) (void)client->write(client->shapes().find("small"), 0, block, kFour);
    ::_exit(0);  // no finalize, no destructor
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const Deadline deadline = Deadline::after_ms(10'000);
  while (region->header().last_complete.load() < 0 && !deadline.expired()) server.poll();
  std::ifstream log(folder.file("log.s0"));
  std::string line;
  std::getline(log, line);
  CHECK_THAT(line, Catch::StartsWith("step 0 ") && Catch::Contains(" datasets 600 ") && Catch::Contains("missing:0"));
}

TEST_CASE("clients of a server that was asked to stop learn that it is storing, and then that it has stored") {
  Node node(node_model(), 1);
  const auto sentence_in = [&](shm::RegionState state) {
    node.region().header().state.store(static_cast<std::uint32_t>(state));
    const Error error = error_of([&] { (void)node.client(0).end_iteration(0); });
    CHECK(error.code() == DC_E_SERVER_LOST);
    node.region().header().state.store(static_cast<std::uint32_t>(shm::RegionState::ready));
    return error.sentence();
  };
  const std::string storing = sentence_in(shm::RegionState::leaving), stored = sentence_in(shm::RegionState::closed);
  CHECK_THAT(storing, Catch::Contains("is storing what it had taken until then") && !Catch::Contains("it stored"));
  CHECK_THAT(stored, Catch::Contains("it stored what it had taken until then") && !Catch::Contains("is storing"));
}

TEST_CASE("a client of a server that was asked to stop gets the error that writes came too late only once that is certain") {
  Node node(node_model(), 1);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 0, 0, kFour) == DC_OK);
  const auto sentence_in = [&](shm::SlotState state) {
    node.region().slot(0).state.store(static_cast<std::uint32_t>(state));
    return error_of([&] { (void)node.client(0).end_iteration(0); }).sentence();
  };
  node.region().header().state.store(static_cast<std::uint32_t>(shm::RegionState::leaving));
  CHECK_THAT(sentence_in(shm::SlotState::attached), !Catch::Contains("came too late"));
  CHECK_THAT(sentence_in(shm::SlotState::dead), Catch::Contains("the last 1 writes and signals of client 0 came too late"));
  node.region().slot(0).state.store(static_cast<std::uint32_t>(shm::SlotState::attached));
  node.region().header().state.store(static_cast<std::uint32_t>(shm::RegionState::ready));
}

TEST_CASE("calls of a client whose server has closed return server lost, at once") {
  Node node(node_model(), 1);
  node.server().close();
  const int call = GENERATE(0, 1, 2);
  const Error error = error_of([&] {
    (void)(call == 0 ? node.client(0).end_iteration(0) : call == 1 ? node.client(0).flush(-1, 10'000) : node.client(0).finalize());
  });
  CHECK(error.code() == DC_E_SERVER_LOST);
  CHECK(error.sentence().find("server 0 on host (process ") == 0);
}

}  // namespace
}  // namespace damaris::test
