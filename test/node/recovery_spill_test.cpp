// What a recovery takes over from the spill file of a server that is gone.
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "remains.hpp"
#include "server/ledger.hpp"

namespace damaris::test {

TEST_CASE("recovery stores what had been spilled, and what was in the region as well only once; the file goes") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  const std::uint64_t spilled = remains.write_many();
  REQUIRE(spilled > 0);
  // As if the server had died between the copy of the last one and its release.
  const bool twice = GENERATE(true, false);
  if (twice) remains.republish_one_that_was_spilled();
  CHECK(remains.region().unreleased_blocks() == std::size_t{kMany} + (twice ? 1 : 0));
  CHECK_THAT(remains.recover().at(0), Catch::Contains("datasets 90 small:0.0=16:10 ") && !Catch::Contains("refused:"));
  CHECK(remains.result().code == DC_OK);
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("recovery reports a second block of the name of one that had been spilled, as it does where none was spilled") {
  constexpr int kSecond = kMany;
  const bool was_taken = GENERATE(false, true);  // by the server, which refused it
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  REQUIRE(remains.write_many() > 0);
  const std::int32_t other[4] = {5, 6, 7, 8};
  remains.client(0).write(remains.client(0).shapes().find("small"), 0, kSecond, other);
  remains.repeat_one_that_was_spilled(kSecond);
  if (was_taken) remains.poll();
  const std::string line = remains.recover().at(0);
  CHECK_THAT(line, Catch::Contains("datasets 90 small:0.0=16:10 ") && Catch::Contains("refused:1 'small' of client 0 in step 0"));
  CHECK(remains.region().unreleased_blocks() == 0);
}

TEST_CASE("a block is a copy of a spilled one only if it has the same shape, place and bytes") {
  const auto model = std::make_shared<model::Model>(node_model());
  const server::VariableInfos infos(*model);
  const float values[6] = {1, 1, 1, 1, 1, 1};
  std::byte record[1] = {};
  dc_dataset_t tile = {};
  for (const dc_variable_info_t& info : infos.all())
    if (std::string(info.path) == "tile") tile.variable = &info;
  REQUIRE(tile.variable != nullptr);
  tile.extents[0] = 2;
  tile.extents[1] = 3;
  tile.has_position = 1;
  tile.data = values;
  tile.bytes = sizeof values;
  server::HeldBlock spilled;
  spilled.spilled.record = record;
  server::Step step(0);
  REQUIRE(step.add(tile, spilled).empty());
  CHECK(step.has_spilled(tile));
  dc_dataset_t other = tile;
  const float others[6] = {1, 1, 1, 1, 1, 2};
  SECTION("position") { other.position[1] = 3; }
  SECTION("no position") { other.has_position = 0; }
  SECTION("extents") { std::swap(other.extents[0], other.extents[1]); }
  SECTION("ghosts") { other.ghost_high[0] = 1; }
  SECTION("values") { other.data = others; }
  SECTION("block") { other.block = 1; }
  CHECK_FALSE(step.has_spilled(other));
}

TEST_CASE("the blocks of the newest step are spilled first, for they are stored last") {
  const TempFolder folder;
  Remains remains(2, {}, folder.path());
  const shm::LaneSpan span = remains.region().span(0);
  constexpr std::uint64_t kBlock = 128;
  const int each = static_cast<int>(span.arena_bytes * 9 / 10 / kBlock / 3);
  for (std::int64_t step : {0, 1, 2})
    for (int block = 0; block < each; ++block) remains.write(0, step, block);  // client 1 has ended none of them
  remains.poll();
  std::map<std::int64_t, int> left;
  shm::walk_arena(remains.region().at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t) {
    if (block.state.load() == static_cast<std::uint32_t>(shm::BlockState::published)) ++left[block.step];
  });
  CHECK(remains.region().header().spilled_blocks.load() > 0);
  CHECK(left[0] == each);
  CHECK(left[1] == each);
  CHECK(left[2] < each);
}

TEST_CASE("a spilled dataset whose labels cannot be is missing: recovery names it, and stores the others when it is given up") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  const std::uint64_t spilled = remains.write_many();
  REQUIRE(spilled > 1);
  {
    std::fstream file(std::filesystem::directory_iterator(folder.path())->path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(shm::BlockHeader, variable));
    file.put(77);
    REQUIRE(file.good());
  }
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains("1 blocks that were spilled to") && Catch::Contains("damaged"));
  CHECK(remains.region().header().spilled_blocks.load() == spilled);
  CHECK_THAT(remains.recover(true).at(0),
             Catch::Contains("datasets 89 ") && Catch::Contains("refused:1 1 blocks that were spilled"));
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a spill file that is whole, but not taken, is reported with the reason, and stays when it is given up") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("spill"));
  Remains remains(1, {}, folder.file("spill"));
  REQUIRE(remains.write_many() > 0);
  const std::filesystem::path file = std::filesystem::directory_iterator(folder.file("spill"))->path(),
                              other = folder.file("other");
  std::filesystem::rename(file, other);
  std::filesystem::create_symlink(other, file);
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains("symbolic link") && !Catch::Contains("gone"));
  (void)remains.recover(true);
  CHECK(std::filesystem::file_size(other) > 0);
}

TEST_CASE("a spill file of which nothing can be used goes when it is given up") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  REQUIRE(remains.write_many() > 0);
  std::filesystem::resize_file(std::filesystem::directory_iterator(folder.path())->path(), 1);
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains("cannot be found there"));
  (void)remains.recover(true);
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace damaris::test
