// What the XDMF file says: where its values lie in the master file.
#include <catch2/catch.hpp>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"
#include "unit/plugins/hdf5/record_text.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

TEST_CASE("coordinates are looked up in their groups, or at the top if they have none") {
  const TempFolder folder;
  const std::uint32_t in_group[] = {0}, at_top[] = {1};
  std::vector<dc_variable_info_t> variables = {variable_info(0, "places/near/x", DC_FLOAT32, 1),
                                               variable_info(1, "y", DC_FLOAT32, 1), variable_info(2, "u", DC_INT32, 1),
                                               variable_info(3, "v", DC_INT32, 1)};
  variables[2].coordinate_count = variables[3].coordinate_count = 1;
  variables[2].coordinates = at_top;
  variables[3].coordinates = in_group;  // after the other one, and in a group without arrays
  MadeRun run(folder.path(), 1, variables);
  Blocks blocks(0);
  for (std::size_t k = 0; k < 2; ++k) place(blocks.add(variables[k], 0, {2}, std::vector<float>{0.5F, 2.5F}), {0});
  for (std::size_t k = 2; k < 4; ++k) place(blocks.add(variables[k], 0, {2}, std::vector<int>{1, 2}), {0});
  run.store(0, blocks);
  run.write_views();
  CHECK_THAT(content(folder.file("run.xmf")), Contains(">run.h5:/places/near/x<") && Contains(">run.h5:/y<"));
  const ReadFile master(folder.file("run.h5"));
  for (const char* path : {"places/near/x", "y"}) CHECK(master.values<float>(path) == std::vector<float>{0.5F, 2.5F});
}
