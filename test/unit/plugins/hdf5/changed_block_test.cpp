// A block that changes after its checksum was taken: a step is refused as long as its values were not read, also between the calls for a
// large one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "codec/checksum.hpp"
#include "plugins/hdf5/write/step_file.hpp"
#include "unit/plugins/hdf5/fixture.hpp"

namespace damaris::test {
namespace {

constexpr std::int64_t kValues = std::int64_t{4} << 20;
static_assert(kValues * sizeof(float) == hdf5::StepFile::kBytesPerCall);  // one dataset in each call

std::vector<dc_variable_info_t> two_variables() {
  return {variable_info(0, "a", DC_FLOAT32, 1), variable_info(1, "b", DC_FLOAT32, 1)};
}

void seal(dc_dataset_t& block) {
  block.has_checksum = 1;
  block.checksum = codec::crc32(block.data, block.bytes);
}

void change(const dc_dataset_t& block) { static_cast<float*>(const_cast<void*>(block.data))[5] += 1; }

std::vector<float> values_of(float variable) { return std::vector<float>(static_cast<std::size_t>(kValues), variable); }

// The blocks of both variables, with the checksums of a client.
struct Sealed {
  explicit Sealed(const std::vector<dc_variable_info_t>& variables, std::int64_t step = 0) : blocks(step) {
    for (const dc_variable_info_t& variable : variables)
      seal(blocks.add(variable, 0, {kValues}, values_of(static_cast<float>(variable.id))));
  }
  Blocks blocks;
};

bool has_files(const Fixture& run) {
  const std::vector<std::string> names = run.listing();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.find(".i0.h5") != std::string::npos; });
}

TEST_CASE("a block that changes between two calls for a step is not stored, nor is the rest, and the next step is") {
  const auto variables = two_variables();
  ServerFixture run(variables);
  Sealed first(variables, 0), second(variables, 1);
  REQUIRE(run.plugin.on_step_once(first.blocks.view()) == DC_AGAIN);
  change(first.blocks.view().datasets[1]);
  CHECK(run.plugin.on_step(first.blocks.view()) == DC_E_IO);
  CHECK_THAT(run.host.failure,
             Catch::Contains("'b' (block 0) of client 0 has changed in the buffer since it was published in step 0"));
  CHECK_FALSE(has_files(run));
  CHECK(run.stored(second.blocks).values<float>("b/0") == values_of(1));
}

TEST_CASE("a block whose values are written may change between two calls") {
  const auto variables = two_variables();
  ServerFixture run(variables);
  Sealed step(variables);
  REQUIRE(run.plugin.on_step_once(step.blocks.view()) == DC_AGAIN);
  change(step.blocks.view().datasets[0]);
  CHECK(run.stored(step.blocks).values<float>("a/0") == values_of(0));
}

// The second block reaches beyond the first one and below it: it is divided into two boxes. The first call writes a little less than it may
// of the first block, and so goes on with one of the two.
TEST_CASE("a block that is in datasets of several calls is checked in each of them") {
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "a", DC_FLOAT32, 2)};
  ServerFixture run(variables);
  constexpr std::int64_t kRows = kValues / 4 - 2;
  Blocks blocks(0);
  place(blocks.add(variables[0], 0, {kRows, 4}, std::vector<float>(4 * kRows, 1)), {0, 0});
  dc_dataset_t& divided = blocks.add(variables[0], 1, {2 * kRows, 4}, std::vector<float>(8 * kRows, 2));
  place(divided, {kRows / 2, 2});
  seal(divided);
  const std::vector<hdf5::Piece> pieces = hdf5::pieces_of(blocks.view());
  const auto source_of = [&](std::size_t piece) { return pieces[piece].parts.front().block->source; };
  REQUIRE(pieces.size() == 3);
  REQUIRE((source_of(0) == 0 && source_of(1) == 1 && source_of(2) == 1));
  REQUIRE(volume(pieces[0].box) < kValues);
  REQUIRE(volume(pieces[0].box) + volume(pieces[1].box) >= kValues);
  REQUIRE(run.plugin.on_step_once(blocks.view()) == DC_AGAIN);
  change(blocks.view().datasets[1]);
  CHECK(run.plugin.on_step(blocks.view()) == DC_E_IO);
  CHECK_FALSE(has_files(run));
}

TEST_CASE("a changed block that no dataset shows fails its step") {
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "a", DC_FLOAT32, 1)};
  Fixture run(variables);
  Blocks blocks(0);
  for (const std::int32_t source : {0, 1}) {
    dc_dataset_t& block = blocks.add(variables[0], source, {8}, std::vector<float>(8, 1));
    place(block, {0});
    seal(block);
  }
  change(blocks.view().datasets[1]);
  CHECK(run.plugin.on_step(blocks.view()) == DC_E_IO);
  CHECK_THAT(run.host.failure, Catch::Contains("'a' (block 0) of client 1 has changed"));
  CHECK_FALSE(has_files(run));
}

}  // namespace
}  // namespace damaris::test
