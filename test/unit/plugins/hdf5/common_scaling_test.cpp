// Which parts of a variable keep it from having one scale and one offset.
#include "plugins/hdf5/views/global_view.hpp"

#include <catch2/catch.hpp>

namespace damaris::hdf5 {
namespace {

manifest::FileEntry file_named(const std::string& name) {
  manifest::FileEntry file;
  file.name = name;
  return file;
}

manifest::DatasetEntry part(std::int64_t extent, std::optional<double> scale) {
  manifest::DatasetEntry dataset;
  dataset.box.ndims = 1;
  dataset.box.high[0] = extent;
  dataset.scale = scale;
  if (scale) dataset.offset = 0;
  dataset.min = 1;
  dataset.max = 2;
  return dataset;
}

TEST_CASE("parts of different scales have none in common, and the first two that differ are named") {
  const manifest::FileEntry files[3] = {file_named("a.h5"), file_named("b.h5"), file_named("c.h5")};
  const manifest::DatasetEntry parts[3] = {part(4, 1), part(4, 2), part(4, {})};
  CommonScaling scaling;
  scaling.add(files[0], parts[0]);
  CHECK(scaling.obstacle().empty());
  CHECK(scaling.scale() == 1);
  scaling.add(files[1], parts[1]);
  const std::string why = scaling.obstacle();
  CHECK_THAT(why, Catch::Contains("different scales and offsets (a.h5 and b.h5)"));
  scaling.add(files[2], parts[2]);
  CHECK(scaling.obstacle() == why);
}

TEST_CASE("a part without elements does not affect the scale, whether it is the first or not") {
  const manifest::FileEntry file = file_named("a.h5");
  const manifest::DatasetEntry empty = part(0, {}), full = part(4, 2);
  CommonScaling scaling;
  scaling.add(file, empty);
  scaling.add(file, full);
  scaling.add(file, empty);
  CHECK(scaling.obstacle().empty());
  CHECK(scaling.scale() == 2);
}

}  // namespace
}  // namespace damaris::hdf5
