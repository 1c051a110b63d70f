// The header of a block from the client that writes it to the server that reads it, in all its forms; and what the server refuses.
#include <cstring>

#include "core/shm/arena.hpp"
#include "node.hpp"
#include "server/intake.hpp"

namespace damaris::test {
namespace {

constexpr std::uint32_t kWithGlobal = 1, kWithGhost = 2;

// One variable: extents 3, 4, ... of bytes; a global array of twice that, ghost zones of 1 and 0.
model::Model model_of(int ndims, std::uint32_t lists) {
  model::Model model = node_model();
  model::Layout& layout = model.layouts[0];
  layout.type = DC_UINT8;
  layout.element_bytes = 1;
  layout.dimensions.clear();
  for (int d = 0; d < ndims; ++d) {
    const auto number = [](int value) { return model::Expression::constant(value); };
    layout.dimensions.push_back(number(d == 0 ? 3 : 2));
    if ((lists & kWithGlobal) != 0) layout.global.push_back(number(20 + d));
    if ((lists & kWithGhost) != 0) layout.ghost.push_back({number(1), number(0)});
  }
  return model;
}

// The first block of client 0, as the server sees it.
server::Intake look(Node& node, const server::VariableInfos& infos) {
  shm::Message event = {};
  event.kind = shm::MessageKind::write;
  event.block_offset = node.region().span(0).arena_offset;
  return server::check_block(node.region(), node.region().span(0), 0, event, infos);
}

shm::BlockHeader& first_block(Node& node) {
  return *reinterpret_cast<shm::BlockHeader*>(node.region().at(node.region().span(0).arena_offset));
}

}  // namespace

TEST_CASE("a header of any form says the same to the server as the client knows, and takes no more lines than it needs") {
  const int ndims = GENERATE(1, 2, 3, 5, DC_MAX_DIMS);
  const auto lists = GENERATE(0U, kWithGlobal, kWithGhost, kWithGlobal | kWithGhost);
  const bool placed = GENERATE(false, true);
  const model::Model model = model_of(ndims, lists);
  const server::VariableInfos infos(model);
  Node node(model, 1);
  client::Variable& variable = node.variable(0, "small");
  const std::int64_t place[DC_MAX_DIMS] = {1, 2, 3, 4, 5, 6, 7, 8};
  if (placed) node.client(0).shapes().set_position("small", ndims, place);
  std::vector<unsigned char> values(variable.shape.bytes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i + 1);
  REQUIRE(node.client(0).write(variable, 0, 0, values.data()) == DC_OK);

  const server::Intake intake = look(node, infos);
  REQUIRE(intake.fault.empty());
  const dc_dataset_t& dataset = intake.dataset;
  const int kinds = 1 + (placed ? 1 : 0) + ((lists & kWithGlobal) != 0 ? 1 : 0) + ((lists & kWithGhost) != 0 ? 1 : 0);
  const std::uint64_t header = shm::round_up(static_cast<std::uint64_t>(56 + 8 * ndims * kinds), shm::kLine);
  CHECK(intake.block.size_bytes == header + shm::round_up(values.size(), shm::kLine));
  REQUIRE(dataset.bytes == values.size());
  CHECK(std::memcmp(dataset.data, values.data(), values.size()) == 0);
  CHECK(dataset.has_position == (placed ? 1 : 0));
  for (int d = 0; d < ndims; ++d) {
    CHECK(dataset.extents[d] == (d == 0 ? 3 : 2));
    CHECK(dataset.position[d] == (placed ? place[d] : 0));
    CHECK(dataset.global[d] == ((lists & kWithGlobal) != 0 ? 20 + d : 0));
    CHECK(dataset.ghost_low[d] == ((lists & kWithGhost) != 0 ? 1 : 0));
    CHECK(dataset.ghost_high[d] == 0);
  }
}

TEST_CASE("a header whose form cannot be, or that is longer than its block, is refused") {
  const model::Model model = model_of(3, kWithGlobal);
  const server::VariableInfos infos(model);
  Node node(model, 1);
  const std::vector<unsigned char> values(12);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 0, 0, values.data()) == DC_OK);
  shm::BlockHeader& block = first_block(node);
  REQUIRE(look(node, infos).fault.empty());
  REQUIRE(block.size_bytes.load() == 192);
  SECTION("dimensions") {
    block.ndims = GENERATE(DC_MAX_DIMS + 1, 255);
    CHECK(look(node, infos).fault == "invalid block header");
  }
  SECTION("an unknown list") {
    block.flags = GENERATE(16, 128 | shm::kHasGlobal);
    CHECK(look(node, infos).fault == "invalid block header");
  }
  SECTION("more lists than there is room before the data") {
    block.flags = shm::kHasGlobal | shm::kHasPosition | shm::kHasGhost;
    CHECK(look(node, infos).fault == "its size is invalid");
  }
  SECTION("a block that ends in its header") {
    block.size_bytes = GENERATE(std::uint64_t{0}, shm::kLine);
    block.data_bytes = 0;
    CHECK(look(node, infos).fault == "its size is invalid");
  }
  SECTION("other dimensions than its layout's") {
    block.ndims = GENERATE(0, 1, 2, 4);
    CHECK(look(node, infos).fault == "its dimensions are not those of the layout");
  }
}

TEST_CASE("a record in a spill file is of the same form, its data behind room for all lists") {
  const TempFolder folder;
  model::Model model = model_of(3, kWithGlobal | kWithGhost);
  model.architecture.spill = folder.path();
  const server::VariableInfos infos(model);
  Node node(model, 1);
  const std::int64_t place[] = {4, 5, 6};
  node.client(0).shapes().set_position("small", 3, place);
  const std::vector<unsigned char> values(12, 7);
  REQUIRE(node.client(0).write(node.variable(0, "small"), 0, 0, values.data()) == DC_OK);
  const server::Intake written = look(node, infos);
  REQUIRE(written.fault.empty());

  server::Spill spill(node.region(), 1 << 20);
  server::SpilledBlock record;
  REQUIRE(spill.copy(written.dataset, record) == server::Spill::Copied::whole);
  shm::LongHeader header;
  std::memcpy(header.bytes, record.record, sizeof header);
  const server::Intake spilled = server::check_spilled(header.get(), record, infos);
  REQUIRE(spilled.fault.empty());
  CHECK(std::memcmp(spilled.dataset.data, values.data(), values.size()) == 0);
  for (int d = 0; d < 3; ++d) {
    CHECK(spilled.dataset.extents[d] == written.dataset.extents[d]);
    CHECK(spilled.dataset.position[d] == place[d]);
    CHECK(spilled.dataset.global[d] == 20 + d);
    CHECK(spilled.dataset.ghost_low[d] == 1);
    CHECK(spilled.dataset.ghost_high[d] == 0);
  }
  header.get().ndims = GENERATE(2, 9, 255);
  CHECK_FALSE(server::check_spilled(header.get(), record, infos).fault.empty());
  spill.release(record);
}

}  // namespace damaris::test
