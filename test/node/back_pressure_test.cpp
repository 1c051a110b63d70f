// Back-pressure: what is skipped, dropped, reduced harder and spilled, and that every bit of it is counted.
#include <cstring>
#include <filesystem>

#include "codec/checksum.hpp"
#include "core/shm/steps.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

const std::vector<double> kVec(100, 1.0);  // 800 bytes

// 8 KiB for each of two clients: seven vectors.
model::Model tight(model::OnFull on_full = model::OnFull::block) {
  model::Model model = node_model();
  model.architecture.buffer_bytes = 2 * 8 * 1024;
  model.architecture.buffer_timeout_ms = 20;
  model.variables[1].on_full = on_full;
  add_recorder(model, true);
  return model;
}

// Four events, and no wait for more.
model::Model short_lane() {
  model::Model model = node_model();
  model.architecture.lane_messages = 4;
  model.architecture.buffer_timeout_ms = 0;
  add_recorder(model);
  return model;
}

int write_vec(Node& node, int id, std::int64_t step, int block = 0) {
  return node.client(id).write(node.variable(id, "vec"), step, block, kVec.data());
}
int write_small(Node& node, int id, std::int64_t step, int block = 0) {
  return node.client(id).write(node.variable(id, "small"), step, block, kFour);
}
// The events that client 0 has sent.
void until_taken(Node& node) {
  const Deadline deadline = Deadline::after_ms(20'000);
  while (node.client(0).status().events_waiting > 0 && !deadline.expired()) std::this_thread::yield();
  REQUIRE(node.client(0).status().events_waiting == 0);
}
// As many as there is room for. Returns the code of the first that was not copied.
int fill(Node& node, int id, std::int64_t step) {
  int code = DC_OK;
  for (int block = 0; code == DC_OK; ++block) code = write_vec(node, id, step, block);
  return code;
}
void poll_all(Node& node) {
  while (node.server().poll()) {
  }
}

}  // namespace

TEST_CASE("rule 9: a variable that may be skipped is skipped for the whole node, for that step, and recorded") {
  Node node(tight(model::OnFull::skip));
  CHECK(fill(node, 0, 0) == DC_N_SKIPPED);
  CHECK(write_vec(node, 1, 0) == DC_N_SKIPPED);  // it has room, but the node has decided
  CHECK(write_small(node, 1, 0) == DC_OK);
  for (int id : {0, 1}) (void)node.client(id).end_iteration(0);
  poll_all(node);
  CHECK(write_vec(node, 0, 1) == DC_OK);
  CHECK(node.client(0).status().skipped == 1);
  CHECK(node.client(0).status().waits == 1);
  CHECK(node.client(1).status().skipped == 1);
  CHECK(node.client(1).status().waits == 0);
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0), Catch::Contains("datasets 10 ") && Catch::Contains(" skipped:vec waits:1"));
  CHECK_THAT(node.lines("step 1 ").at(0), !Catch::Contains("skipped"));
}

TEST_CASE("rule 9: a step that is dropped takes nothing more of any variable; what it has taken is stored") {
  Node node(tight(model::OnFull::drop));
  CHECK(write_small(node, 1, 0) == DC_OK);
  CHECK(fill(node, 0, 0) == DC_N_DROPPED);
  CHECK(write_small(node, 1, 0, 1) == DC_N_DROPPED);
  for (int id : {0, 1}) (void)node.client(id).end_iteration(0);
  CHECK(node.client(0).status().dropped == 1);
  CHECK(node.client(1).status().dropped == 1);
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0),
             Catch::Contains("datasets 10 small:1.0=16:10 ") && Catch::Contains(" dropped:small dropped:vec"));
}

TEST_CASE("a variable that must not be skipped gets the error, as without on-full") {
  Node node(tight());
  (void)write_vec(node, 1, 0);
  CHECK(error_of([&] { (void)fill(node, 0, 0); }).code() == DC_E_ITERATION_TOO_LARGE);
  (void)node.client(0).end_iteration(0);
  const Error error = error_of([&] { (void)fill(node, 0, 1); });
  CHECK(error.code() == DC_E_FULL);
  CHECK_THAT(error.sentence(), Catch::Contains("or say what to leave out with on-full, in node.xml"));
  CHECK(write_vec(node, 1, 1) == DC_OK);
}

TEST_CASE("what a full lane has refused makes its step partial, even a step that it kept from opening") {
  Node node(short_lane(), 1);
  for (int block = 0; block < 4; ++block) CHECK(write_small(node, 0, 0, block) == DC_OK);
  for (int step : {0, 1, 2}) CHECK(error_of([&] { (void)write_small(node, 0, step, 4); }).code() == DC_E_FULL);
  node.start();
  until_taken(node);
  CHECK(write_small(node, 0, 2, 4) == DC_OK);
  (void)node.client(0).finalize();
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0), Catch::Contains("datasets 4 ") && Catch::Contains(" skipped:small"));
  CHECK_THAT(node.lines("step 1 ").at(0), Catch::Contains("datasets 0 ") && Catch::Contains(" skipped:small"));
  CHECK_THAT(node.lines("step 2 ").at(0), Catch::Contains("datasets 1 ") && !Catch::Contains("skipped"));
}

TEST_CASE("a block that a full lane has kept from being committed makes its step partial, unless it is committed again") {
  Node node(short_lane(), 1);
  void* data = nullptr;
  const bool again = GENERATE(false, true);
  REQUIRE(node.client(0).alloc(node.variable(0, "small"), 0, 7, &data) == DC_OK);
  std::memcpy(data, kFour, sizeof kFour);
  for (int block = 0; block < 4; ++block) CHECK(write_small(node, 0, 0, block) == DC_OK);
  CHECK(error_of([&] { (void)node.client(0).commit(node.variable(0, "small"), 0, 7); }).code() == DC_E_FULL);
  node.start();
  until_taken(node);
  if (again) CHECK(node.client(0).commit(node.variable(0, "small"), 0, 7) == DC_OK);
  CHECK(node.client(0).end_iteration(0).code == (again ? DC_OK : DC_E_NOT_COMMITTED));
  node.stop();
  const std::string line = node.lines("step 0 ").at(0);
  CHECK_THAT(line, Catch::Contains(again ? "datasets 5 " : "datasets 4 "));
  CHECK((line.find(" skipped:small") == std::string::npos) == again);
}

TEST_CASE("priority: a variable is skipped with those below it, not with those above") {
  model::Model model = tight(model::OnFull::skip);
  model.variables[0].on_full = model::OnFull::skip;
  model.variables[0].priority = GENERATE(0, 1, 2);
  model.variables[1].priority = 1;
  Node node(model);
  CHECK(fill(node, 0, 0) == DC_N_SKIPPED);
  CHECK(write_small(node, 1, 0) == (model.variables[0].priority > 1 ? DC_OK : DC_N_SKIPPED));
}

TEST_CASE("an alloc that is skipped returns memory, and its commit returns the same notice") {
  Node node(tight(model::OnFull::skip), 1);
  while (write_vec(node, 0, 0, static_cast<int>(node.client(0).status().writes)) == DC_OK) {
  }
  void* data = nullptr;
  CHECK(node.client(0).alloc(node.variable(0, "vec"), 0, 100, &data) == DC_N_SKIPPED);
  REQUIRE(data != nullptr);
  std::memset(data, 1, 800);
  CHECK(node.client(0).commit(node.variable(0, "vec"), 0, 100) == DC_N_SKIPPED);
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).status().skipped == 2);
}

TEST_CASE("a refused alloc counts as omitted, once, whether it is committed or not") {
  model::Model model = tight(GENERATE(model::OnFull::skip, model::OnFull::drop));
  const bool drops = model.variables[1].on_full == model::OnFull::drop;
  Node node(model, 1);
  client::Client& client = node.client(0);
  void* data = nullptr;
  int block = 0;
  for (; client.alloc(node.variable(0, "vec"), 0, block, &data) == DC_OK; ++block)
    REQUIRE(client.commit(node.variable(0, "vec"), 0, block) == DC_OK);
  const int notice = drops ? DC_N_DROPPED : DC_N_SKIPPED;
  CHECK(client.alloc(node.variable(0, "vec"), 0, block, &data) == notice);
  if (GENERATE(true, false)) CHECK(client.commit(node.variable(0, "vec"), 0, block) == notice);
  CHECK(client.status().skipped + client.status().dropped == 1);
  CHECK(client.end_iteration(0).code == DC_OK);
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0), Catch::Contains(drops ? " dropped:vec" : " skipped:vec"));
}

TEST_CASE("refusals are recorded even if the step ends by the next one, or by the end of the client") {
  Node node(tight(model::OnFull::skip), 1);
  CHECK(fill(node, 0, 0) == DC_N_SKIPPED);
  CHECK(fill(node, 0, 1) == DC_N_SKIPPED);  // nothing was taken meanwhile
  if (GENERATE(false, true)) node.drop_client(0);
  node.stop();
  CHECK(node.lines("skipped:vec").size() == 2);
}

TEST_CASE("a decision belongs to one step, and of the steps that share its word to the later one") {
  const auto skip = shm::Omission::skip(5, 3);
  CHECK(skip.is_of(5));
  CHECK_FALSE(skip.is_of(5 + static_cast<std::int64_t>(shm::kOmissions)));
  CHECK_FALSE(shm::Omission().is_of(0));
  CHECK(skip.skips(3));
  CHECK_FALSE(skip.skips(4));
  CHECK_FALSE(skip.drops());
  const auto both = skip.with(shm::Omission::drop(5));
  CHECK(both.drops());
  CHECK(both.skips(3));
  Node node(tight(), 1);
  shm::RegionHeader& header = node.region().header();
  shm::omit(header, 5, skip);
  shm::omit(header, 5, shm::Omission::skip(5, 1));
  CHECK(shm::omission_of(header, 5).skips(3));
  const std::int64_t later = 5 + static_cast<std::int64_t>(shm::kOmissions);
  shm::omit(header, later, shm::Omission::drop(later));
  shm::omit(header, 5, skip);
  CHECK(shm::omission_of(header, later).drops());
  CHECK_FALSE(shm::omission_of(header, 5).skips(0));
  CHECK(shm::omitted_until(header) == 5);
}

TEST_CASE("a full buffer spills blocks, even of the open step; what was spilled is stored, and the file is removed") {
  const TempFolder folder;
  model::Model model = tight();
  model.architecture.buffer_timeout_ms = 20'000;
  model.architecture.spill = folder.path();
  model.architecture.spill_bytes = 1 << 30;
  Node node(model, 1);
  node.start();
  std::vector<double> vec(100);
  for (int block = 0; block < 200; ++block) {
    std::fill(vec.begin(), vec.end(), block);
    REQUIRE(node.client(0).write(node.variable(0, "vec"), 0, block, vec.data()) == DC_OK);
  }
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).flush(0, 20'000).code == DC_OK);
  CHECK(node.client(0).status().spilled_bytes >= 150 * 800);
  node.stop();
  const std::string line = node.lines("step 0 ").at(0);
  CHECK_THAT(line, Catch::Contains("datasets 200 ") && Catch::Contains(" spilled:") && !Catch::Contains(" with 0 checksums"));
  for (int block : {0, 1, 99, 199})
    CHECK_THAT(line, Catch::Contains(" vec:0." + std::to_string(block) + "=800:" + std::to_string(block * 100) + " "));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a change of a spilled block on disk is detected, even if the client took no checksum") {
  const TempFolder folder;
  model::Model model = node_model();
  model.architecture.spill = folder.path();
  model.architecture.spill_bytes = 1 << 30;
  auto region = server::make_region(model, "<simulation/>", 1, {"", "host", 0, false});
  server::Spill spill(*region, 1 << 30);
  const server::VariableInfos infos(model);
  dc_dataset_t dataset = {};
  dataset.variable = &infos.all()[0];
  dataset.data = kFour;
  dataset.bytes = sizeof kFour;
  dataset.extents[0] = 4;
  server::SpilledBlock place;
  REQUIRE(spill.copy(dataset, place) == server::Spill::Copied::whole);
  CHECK(place.checksum == codec::crc32(kFour, sizeof kFour));
  spill.release(place);
}

TEST_CASE("a large dataset is spilled in pieces, and its checksum is that of the whole; a copy that is abandoned leaves nothing") {
  const TempFolder folder;
  model::Model model = node_model();
  model.architecture.spill = folder.path();
  auto region = server::make_region(model, "<simulation/>", 1, {"", "host", 0, false});
  server::Spill spill(*region, 1 << 30);
  const server::VariableInfos infos(model);
  std::vector<unsigned char> data((9 << 20) + 13);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 4093);
  dc_dataset_t dataset = {};
  dataset.variable = &infos.all()[0];
  dataset.data = data.data();
  dataset.bytes = data.size();
  server::SpilledBlock place;
  REQUIRE(spill.copy(dataset, place) == server::Spill::Copied::unfinished);
  CHECK(region->header().spilled_blocks.load() == 0);
  spill.cancel_copy();
  CHECK(std::filesystem::file_size(region->spill_file()) == 0);

  int calls = 1;
  while (spill.copy(dataset, place) == server::Spill::Copied::unfinished) ++calls;
  CHECK(calls == 3);
  CHECK(region->header().spilled_blocks.load() == 1);
  CHECK(place.checksum == codec::crc32(data.data(), data.size()));
  REQUIRE(std::memcmp(place.data(), data.data(), data.size()) == 0);
  shm::LongHeader header;
  std::memcpy(header.bytes, place.record, sizeof header);
  CHECK(header.get().checksum == place.checksum);
  spill.release(place);
}

TEST_CASE("the name of a spill file cannot be predicted from that of its region") {
  const TempFolder folder;
  const std::string path = server::Spill::path_for(folder.path(), "/damaris.0.region");
  CHECK(path.rfind(folder.file("damaris.0.region."), 0) == 0);
  CHECK(path != server::Spill::path_for(folder.path(), "/damaris.0.region"));
}

TEST_CASE("when the spill file must not grow further, a write waits and is refused as without one") {
  const TempFolder folder;
  model::Model model = tight();
  model.architecture.spill = folder.path();
  model.architecture.spill_bytes = 5 * 4096;
  model.architecture.buffer_timeout_ms = 2'000;
  Node node(model, 1);
  node.start();
  int written = 0;
  Error error(DC_OK, "");
  const Deadline deadline = Deadline::after_ms(30'000);
  do {  // again when the server did not get its turn in time
    error = error_of([&] {
      for (;; ++written) (void)write_vec(node, 0, 0, written);
    });
  } while (written < 18 + 5 && !deadline.expired());
  CHECK(error.code() == DC_E_FULL);
  CHECK(written == 18 + 5);
  CHECK(node.client(0).end_iteration(0).code == DC_OK);
  CHECK(node.client(0).flush(0, 20'000).code == DC_OK);
  node.stop();
  CHECK(node.lines("datasets 23 ").size() == 1);
}

TEST_CASE("from half full on, steps are stored with reduce-on-full") {
  model::Model model = tight();
  model.architecture.reduces_on_full = true;
  model.variables[1].reduce = "deflate";
  model.variables[1].reduce_on_full = "relative:1e-2,deflate";
  Node node(model, 1);
  for (int block = 0; block < 10; ++block) (void)write_vec(node, 0, 0, block);
  (void)node.client(0).end_iteration(0);
  poll_all(node);
  (void)write_vec(node, 0, 1);
  (void)node.client(0).end_iteration(1);
  poll_all(node);
  CHECK(node.client(0).status().reduced_steps == 1);
  node.stop();
  CHECK_THAT(node.lines("step 0 ").at(0), Catch::Contains(" vec as relative:1e-2,deflate"));
  CHECK_THAT(node.lines("step 1 ").at(0), !Catch::Contains(" as "));
}

}  // namespace damaris::test
