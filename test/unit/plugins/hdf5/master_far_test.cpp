// The master file of a run in which a block lies where no array could reach.
#include <catch2/catch.hpp>

#include <limits>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

TEST_CASE("a position that makes an array too large for HDF5 excludes only that variable from the views") {
  const TempFolder folder;
  const auto v = variable_info(0, "v", DC_FLOAT32, 2), w = variable_info(1, "w", DC_INT8, 1);
  MadeRun run(folder.path(), 1, {v, w});
  Blocks blocks(0);
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() - 1, kLargest = (std::int64_t{1} << 60) - 2;
  place(blocks.add(v, 0, {1, 1}, std::vector<float>{1}), {0, 0});
  place(blocks.add(v, 0, {1, 1}, std::vector<float>{2}, 1), {kFar, kFar});
  place(blocks.add(w, 0, {1}, std::vector<char>{3}), {0});
  place(blocks.add(w, 0, {1}, std::vector<char>{4}, 1), {kLargest});  // as large as possible, with a dimension of four bytes each
  run.store(0, blocks);
  run.finish();
  const ReadFile master(folder.file("storm.h5"));
  CHECK(master.extents("w") == std::vector<hsize_t>{1, static_cast<hsize_t>(kLargest) + 1});
  CHECK_FALSE(master.has("v"));
  REQUIRE(master.texts("/", "not_shown").size() == 1);
  CHECK_THAT(master.texts("/", "not_shown")[0], Contains("v: ") && Contains("storm.node7.s0.i0.h5"));
}
