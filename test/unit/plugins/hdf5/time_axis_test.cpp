// The time of the views: its unit, and numbers of steps that reals do not hold.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

const dc_variable_info_t kVariable = variable_info(0, "v", DC_INT32, 1);

void store(MadeRun& run, std::int64_t step, std::optional<double> time = {}) {
  Blocks blocks(step);
  blocks.view().has_time = time ? 1 : 0;
  blocks.view().time = time.value_or(0);
  place(blocks.add(kVariable, 0, {1}, std::vector<int>{7}), {0});
  run.store(0, blocks);
}

}  // namespace

TEST_CASE("numbers of steps above 2^53 are not repeated by the time of the views") {
  const TempFolder folder;
  MadeRun run(folder.path(), 1, {kVariable});
  const std::vector<std::int64_t> steps = {(std::int64_t{1} << 53), (std::int64_t{1} << 53) + 1, (std::int64_t{1} << 60) + 1};
  for (const std::int64_t step : steps) store(run, step);
  run.write_views();
  const ReadFile master(folder.file("run.h5"));
  CHECK(master.values<std::int64_t>("time") == steps);
  std::ifstream xdmf(folder.file("run.xmf"));
  const std::string text{std::istreambuf_iterator<char>(xdmf), {}};
  for (const std::int64_t step : steps) CHECK_THAT(text, Contains("<Time Value=\"" + std::to_string(step) + "\"/>"));
}

TEST_CASE("the time of the views has a unit: that of the XML, or 1 for the numbers of steps") {
  const TempFolder folder;
  const char* const unit = GENERATE("", "h", "seconds since 2000-01-01");
  MadeRun run(folder.path(), 1, {kVariable}, "storm", *unit == '\0' ? Settings{} : Settings{{"time-unit", unit}});
  store(run, 0, 0.5);
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).text("time", "units") == (*unit == '\0' ? "s" : unit));
  store(run, 1);
  run.write_views();
  CHECK(ReadFile(folder.file("run.h5")).text("time", "units") == "1");
}
