// A plugin writing into a folder of its own, the base of most cases.
// Used by: tests of the hdf5 plugin, one thread.
// Before it: nothing. After it: ReadFile.
#pragma once

#include <string>
#include <vector>

#include "support/temp_folder.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/hdf5/read_file.hpp"
#include "unit/plugins/loaded_plugin.hpp"

namespace damaris::test {

class Fixture {
 public:
  explicit Fixture(const std::vector<dc_variable_info_t>& variables = {}, Settings more = {})
      : host(with_basename(std::move(more), folder.file("storm")), variables), plugin("hdf5", host) {
    INFO(host.failure);
    REQUIRE(plugin.init_code == DC_OK);
  }

  // Stores the step and opens its file.
  ReadFile stored(Blocks& blocks) {
    const dc_step_t& step = blocks.view();
    const int code = plugin.on_step(step);
    INFO(host.failure);
    REQUIRE(code == DC_OK);
    return ReadFile(path(step.step));
  }
  std::string path(std::int64_t step) const { return folder.file("storm.node7.s3.i" + std::to_string(step) + ".h5"); }
  // Names of everything in the folder but the log and the file that names the run.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (const auto end = entry.path().extension(); end != ".jsonl" && end != ".lock")
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TempFolder folder;
  FakeHost host;
  RunningPlugin plugin;

 private:
  static Settings with_basename(Settings settings, const std::string& basename) {
    settings.insert(settings.begin(), {{"basename", basename}, {"retry-ms", "0"}});
    return settings;
  }
};

// The plugin of a server, not in place: it has a region with a name.
class ServerFixture : public Fixture {
 public:
  explicit ServerFixture(const std::vector<dc_variable_info_t>& variables = {}, Settings more = {})
      : Fixture(variables, std::move(more)) {
    host.set_regions(kRegions);
  }
  static constexpr const char* kRegions = "/damaris.hdf5_test.";
};

}  // namespace damaris::test
