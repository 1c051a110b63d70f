// The master file, read with HDF5's own calls: values, holes, types, names, and folders that move.
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

// Row `server` of an array of two rows of three: 100 step + 10 server + column.
template <class Value>
void add_row(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  std::vector<Value> values;
  for (int x = 0; x < 3; ++x) values.push_back(static_cast<Value>(100 * step + 10 * server + x));
  place(blocks.add(variable, server, {1, 3}, values), {server, 0});
}

template <class Value>
void store_rows(MadeRun& run, const dc_variable_info_t& variable, std::int64_t step, const std::vector<int>& servers) {
  for (const int server : servers) {
    Blocks blocks(step);
    add_row<Value>(blocks, variable, server, step);
    run.store(server, blocks);
  }
}

std::vector<std::string> texts(const ReadFile& file, const char* name) {
  const hid_t attribute = H5Aopen(file.id(), name, H5P_DEFAULT), type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  std::vector<char*> read(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  if (!read.empty()) CHECK(H5Aread(attribute, type, read.data()) >= 0);
  const std::vector<std::string> list(read.begin(), read.end());
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
  return list;
}

class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("the master shows a variable of two servers and two iterations as one array") {
  const TempFolder folder;
  const auto variable = variable_info(0, "fields/theta", DC_INT32, 2);
  MadeRun run(folder.path(), 2, {variable});
  store_rows<int>(run, variable, 4, {0, 1});
  store_rows<int>(run, variable, 6, {0, 1});
  run.write_views();
  const ReadFile master(folder.file("storm.h5"));
  CHECK(master.extents("fields/theta") == std::vector<hsize_t>{2, 2, 3});
  CHECK(master.values<int>("fields/theta") == std::vector<int>{400, 401, 402, 410, 411, 412, 600, 601, 602, 610, 611, 612});
  CHECK(master.values<std::int64_t>("fields/iteration") == std::vector<std::int64_t>{4, 6});
  CHECK(master.values<double>("fields/time") == std::vector<double>{4, 6});
  CHECK(master.text("fields/time", "long_name") == "iteration");
  CHECK(master.text("/", "Conventions") == "CF-1.8");
  CHECK(texts(master, "not_shown").empty());
}
