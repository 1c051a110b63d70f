// A run that stored something, and a later one that reads from it through the plugin's table.
// Used by: tests of restart, one thread.
// Before it: nothing. After it: what the later run reads, or why it does not.
#pragma once

#include <catch2/catch.hpp>

#include <numeric>

#include "unit/manifest/hand_manifest.hpp"
#include "unit/plugins/hdf5/fixture.hpp"

namespace damaris::test {
// A later run's plugin, which reads from the manifest of `earlier`.
class Later {
 public:
  Later(const HandRecord& earlier, const std::vector<dc_variable_info_t>& variables, Settings more = {})
      : host(with(std::move(more), folder.file("later"), earlier.basename()), variables), plugin("hdf5", host) {
    INFO(host.failure);
    REQUIRE(plugin.init_code == DC_OK);
  }
  template <class Value>
  void reads(Question<Value>& question) {
    const int code = plugin.read(question.read);
    INFO(host.failure);
    REQUIRE(code == DC_OK);
  }

  TempFolder folder;
  FakeHost host;
  RunningPlugin plugin;

 private:
  static Settings with(Settings settings, const std::string& basename, const std::string& restart) {
    settings.insert(settings.begin(), {{"basename", basename}, {"restart", restart}});
    return settings;
  }
};

inline std::uint64_t offset_of_values(const std::string& path, const char* dataset) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, dataset, H5P_DEFAULT);
  const haddr_t offset = H5Dget_offset(set);
  H5Dclose(set);
  H5Fclose(file);
  return offset;
}

inline std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

inline dc_variable_info_t theta() { return variable_info(0, "fields/theta", DC_FLOAT32, 2); }

// Two clients' blocks of 3 x 4, one above the other, with step 4 on record.
struct Earlier {
  Earlier() : record(fixture.folder.path()) {
    Blocks blocks(4);
    place(blocks.add(variables[0], 0, {3, 4}, numbers(12)), {0, 0});
    place(blocks.add(variables[0], 1, {3, 4}, numbers(12)), {3, 0});
    fixture.stored(blocks);
  }
  manifest::StepEntry step() const { return record.step(4, fixture.path(4), {joined_dataset("fields/theta", {0, 0}, {6, 4})}); }

  std::vector<dc_variable_info_t> variables = {theta()};
  Fixture fixture{variables};
  HandRecord record;
};

}  // namespace damaris::test
