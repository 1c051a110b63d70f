// The dimensions of many variables on one mesh: complete lists, at a cost that grows with their number.
#include "plugins/hdf5/views/master_file.hpp"

#include <H5DSpublic.h>

#include <catch2/catch.hpp>

#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_folder.hpp"
#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/hdf5/read_file.hpp"

using namespace damaris;
using namespace damaris::test;

namespace {

// The path of a master file of `count` variables of 3 x 2 elements, v0, v1, ..., in step 0.
std::string master_of(const TempFolder& folder, std::size_t count) {
  std::deque<std::string> names;
  std::vector<dc_variable_info_t> variables;
  hdf5::Steps steps;
  steps[0].files.resize(1);
  steps[0].files[0].name = "run.s0.i0.h5";
  for (std::size_t k = 0; k < count; ++k) {
    names.push_back("v" + std::to_string(k));
    variables.push_back(variable_info(static_cast<std::uint32_t>(k), names.back().c_str(), DC_INT32, 2));
    steps[0].files[0].datasets.push_back(joined_dataset(names.back(), {0, 0}, {3, 2}));
  }
  const FakeHost host({}, variables);
  const hdf5::ViewPlace place{folder.path().string(), "run" + std::to_string(count), "node7"};
  const hdf5::GlobalView view = hdf5::global_view(steps, *host.view());
  const hdf5::ViewNames view_names(view, *host.view());
  hdf5::MasterWriter master(place, view, view_names, steps, *host.view(), false);
  while (master.write_piece()) {
  }
  return place.final_path(hdf5::kMasterSuffix);
}

// Counts what H5DSiterate_scales finds at each dimension, and whether the scale has the dataset in its list.
herr_t count_attached(hid_t dataset, unsigned dimension, hid_t scale, void* count) {
  *static_cast<int*>(count) += H5DSis_attached(dataset, scale, dimension) > 0 ? 1 : 100;
  return 0;
}

}  // namespace

TEST_CASE("a scale lists every dataset that it labels, and each dimension has one scale") {
  const TempFolder folder;
  const ReadFile master(master_of(folder, 3));
  for (const char* name : {"v0", "v1", "v2"}) {
    const hdf5::Dataset dataset(H5Dopen2(master.id(), name, H5P_DEFAULT), "open");
    for (const unsigned dimension : {0U, 1U, 2U}) {
      int attached = 0;
      CHECK(H5DSiterate_scales(dataset.id(), dimension, nullptr, count_attached, &attached) >= 0);
      CHECK(attached == 1);
    }
  }
  const hdf5::Dataset steps(H5Dopen2(master.id(), "iteration", H5P_DEFAULT), "open");
  CHECK(H5DSget_num_scales(steps.id(), 0) == 1);
}

// A list that is written anew for each dataset leaves the room of its predecessors in the file.
TEST_CASE("twice as many variables on one mesh make a master file of twice the size") {
  const TempFolder folder;
  const auto bytes = [&](std::size_t count) { return std::filesystem::file_size(master_of(folder, count)); };
  const auto few = bytes(2500), many = bytes(5000);
  INFO(few << " and " << many << " bytes");
  CHECK(many > few * 19 / 10);
  CHECK(many < few * 21 / 10);
}
