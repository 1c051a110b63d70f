#include "plugins/hdf5/layout/pieces.hpp"

#include <catch2/catch.hpp>

#include "unit/plugins/hdf5/blocks.hpp"

namespace damaris::test {

TEST_CASE("variables are stored by priority, those of equal priority in the order of the XML") {
  std::vector<dc_variable_info_t> variables = {variable_info(0, "low", DC_INT32, 1), variable_info(1, "first", DC_INT32, 1),
                                               variable_info(2, "lowest", DC_INT32, 1), variable_info(3, "second", DC_INT32, 1)};
  variables[1].priority = variables[3].priority = 7;
  variables[2].priority = -1;
  Blocks blocks(0);
  for (const dc_variable_info_t& variable : variables) blocks.add(variable, 0, {2}, std::vector<int>{1, 2});
  std::vector<std::string> order;
  for (const hdf5::Piece& piece : hdf5::pieces_of(blocks.view())) order.emplace_back(piece.variable->path);
  CHECK(order == std::vector<std::string>{"first", "second", "low", "lowest"});
}

}  // namespace damaris::test
