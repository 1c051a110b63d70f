// Which variables of a run are shown as one array, from the manifest alone.
#include "plugins/hdf5/views/global_view.hpp"

#include <catch2/catch.hpp>

#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/blocks.hpp"

using namespace damaris;
using namespace damaris::test;

namespace {

// Steps of which each has the datasets of these variables, one element each.
hdf5::Steps steps_with(const std::vector<std::vector<std::string>>& variables) {
  hdf5::Steps steps;
  for (std::size_t number = 0; number < variables.size(); ++number) {
    manifest::StepEntry& step = steps[static_cast<std::int64_t>(number)];
    step.step = static_cast<std::int64_t>(number);
    step.files.resize(1);
    for (const std::string& name : variables[number]) step.files[0].datasets.push_back(joined_dataset(name, {0}, {1}));
  }
  return steps;
}

}  // namespace

TEST_CASE("the axis of the most variables is the first, then the longest, then the one that begins first") {
  std::vector<dc_variable_info_t> variables;
  for (const char* path : {"a", "b", "c", "d", "e"})
    variables.push_back(variable_info(static_cast<std::uint32_t>(variables.size()), path, DC_INT32, 1));
  const hdf5::Steps steps = steps_with({{"a", "d"}, {"b", "d"}, {"a", "d"}, {"b", "c", "e"}, {"c", "e"}});
  const FakeHost host({}, variables);
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  std::vector<Numbers> axes;
  for (const hdf5::TimeAxis& axis : view.axes) axes.push_back(axis.steps);
  CHECK(axes == std::vector<Numbers>{{3, 4}, {0, 1, 2}, {0, 2}, {1, 3}});
}
