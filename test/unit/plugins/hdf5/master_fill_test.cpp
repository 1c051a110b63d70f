// The fill values of arrays in the master file.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;

TEST_CASE("elements that are too large for a fill value in the header are shown, and so are the other variables") {
  const TempFolder folder;
  constexpr std::int64_t kCount = 8192;
  const dc_field_t field = {"a", DC_FLOAT64, kCount, 0};
  auto large = variable_info(0, "large", DC_COMPOUND, 1);
  large.element_bytes = kCount * sizeof(double);
  large.field_count = 1;
  large.fields = &field;
  const auto small = variable_info(1, "small", DC_FLOAT64, 1);
  MadeRun run(folder.path(), 1, {large, small});
  const std::vector<double> values(2 * kCount, 2.5);
  Blocks blocks(0);
  place(blocks.add(large, 0, {2}, values.data()), {0});
  place(blocks.add(small, 0, {2}, values.data()), {0});
  run.store(0, blocks);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<double>("small") == std::vector<double>{2.5, 2.5});
  const std::vector<char> bytes = master.bytes("large");
  REQUIRE(bytes.size() == values.size() * sizeof(double));
  CHECK(std::memcmp(bytes.data(), values.data(), bytes.size()) == 0);
}
