#include "core/shm/mailbox.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

// As the server does before it runs.
void post(Node& node, std::int64_t step, int code, const std::string& sentence) {
  REQUIRE(shm::try_post(node.region().slot(0), step, code, sentence));
}

// Writes `blocks` of step 0, each with a header that the server refuses.
void write_refused_blocks(Node& node, int blocks) {
  for (int block = 0; block < blocks; ++block) REQUIRE(node.client(0).write(node.variable(0, "small"), 0, block, kFour) == DC_OK);
  const shm::LaneSpan span = node.region().span(0);
  shm::walk_arena(node.region().at(span.arena_offset), span.arena_bytes,
                  [](shm::BlockHeader& block, std::uint64_t) { block.data_bytes = 17; });
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool becomes_drained(Node& node, std::int64_t within_ms) {
  const Deadline deadline = Deadline::after_ms(within_ms);
  const auto is_drained = [&] { return node.region().slot(0).state.load() == static_cast<std::uint32_t>(shm::SlotState::drained); };
  while (!is_drained() && !deadline.expired()) std::this_thread::yield();
  return is_drained();
}

TEST_CASE(
    "rule 8: no report of a later step hides that of the step that ends, and errors come before notices, the lowest step first") {
  Node node(node_model(), 1);
  post(node, 60, DC_E_CLIENT_LOST, "client 1 died");
  post(node, 1, DC_N_PLUGIN, "an action failed");
  post(node, 1, DC_E_IO, "step 1 is lost");
  post(node, 0, DC_E_IO, "step 0 is lost");
  client::Client& client = node.client(0);
  const auto end = [&](std::int64_t step) { return client.end_iteration(step).message; };
  CHECK(end(1) == "step 0 is lost");
  CHECK(end(2) == "step 1 is lost");
  CHECK(end(3) == "an action failed");
  CHECK(end(4).empty());
  CHECK(end(60) == "client 1 died");
}

TEST_CASE("rule 8: flush returns the failure of its step, however many reports came before it") {
  model::Model model = node_model();
  add_recorder(model, true, {{"fail_at", "1"}});
  Node node(model, 1);
  CHECK(node.client(0).end_iteration(1).code == DC_OK);
  const bool of_later_step = GENERATE(true, false);
  for (std::uint32_t mail = 0; mail < shm::kMails; ++mail)
    if (of_later_step)
      post(node, 60, DC_E_CLIENT_LOST, "client 1 died");
    else
      post(node, 1, DC_N_PLUGIN, "an action failed");
  node.start();
  const Status report = node.client(0).flush(1, 20'000);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK_THAT(report.message, Catch::Contains("it was asked to fail at this step"));
}

TEST_CASE("rule 8: finalize returns all that the server has to report, also what its mailbox has no room for") {
  model::Model model = node_model();
  model.architecture.finalize_timeout_ms = 60'000;  // a client that takes its reports late is waited for
  add_recorder(model);
  Node node(model, 1);
  constexpr int kBlocks = 40;
  write_refused_blocks(node, kBlocks);
  for (std::uint32_t mail = 0; mail < shm::kMails; ++mail) post(node, 0, DC_N_PLUGIN, "an action failed");
  node.start();
  const Status report = node.client(0).finalize();
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK(count_of(" was refused: ", report.message) == kBlocks);
  CHECK(count_of("an action failed", report.message) == static_cast<int>(shm::kMails));
}

TEST_CASE("rule 8: a client that does not take its reports keeps the server from its end for a bounded time") {
  model::Model model = node_model();
  model.architecture.finalize_timeout_ms = 600;
  Node node(model, 1);
  write_refused_blocks(node, 40);
  shm::Message end = {};
  end.kind = shm::MessageKind::finalize;
  REQUIRE(shm::LaneWriter(node.region().lane(0), node.region().lane_messages()).try_push(end));
  node.start();
  CHECK(becomes_drained(node, 20'000));
}

TEST_CASE("mail that a client never takes does not pile up") {
  Node node(node_model(), 1);
  server::Roster roster(node.region());
  for (int mail = 0; mail < 10'000; ++mail) roster.notify(roster.members()[0], {0, DC_E_SHAPE, "refused"});
  const auto& outbox = roster.members()[0].outbox;
  CHECK(outbox.size() < 5'000);
  CHECK(outbox.back().status.code == DC_E_SHAPE);
  CHECK_THAT(outbox.back().status.message, Catch::Contains("are lost, as the server has no log of them"));
}

TEST_CASE("a mailbox that another client has damaged is reported once, and delays neither a step nor the end") {
  Node node(node_model(), 1);
  client::Client& client = node.client(0);
  node.region().slot(0).mail_head.store(GENERATE(shm::kMails + 1, ~std::uint32_t{0}));
  const Status report = client.end_iteration(0);
  CHECK(report.code == DC_E_EARLIER_IO);
  CHECK_THAT(report.message, Catch::StartsWith("the mailbox of client 0 is damaged"));
  REQUIRE(client.end_iteration(1).code == DC_OK);
  node.start();
  CHECK(client.finalize().code == DC_OK);
}

}  // namespace
}  // namespace damaris::test
