// One of the servers of a run: a host at its place and the plugin, storing made-up steps in a folder that others share.
// Used by: tests of the manifest and of what stands on it, one thread.
// Before it: the test. After it: <folder>/storm.*.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "unit/plugins/hdf5/fixture.hpp"

namespace damaris::test {

// A server of a run, its plugin started.
struct ServerOf {
  enum class In { place };
  ServerOf(const TempFolder& folder, int index, int count, Settings more = {}, bool connected = true, const char* regions = "",
           const char* job = "local", const char* node = "node7")
      : host(with_basename(std::move(more), folder.file("storm")), {}) {
    host.place(index, count);
    host.set_regions(regions);
    host.set_job(job);
    host.set_name(node);
    if (!connected) host.cut_off();
    plugin.emplace("hdf5", host);
  }
  ServerOf(const TempFolder& folder, int index, int count, In /*place*/) : host(with_basename({}, folder.file("storm")), {}) {
    host.place(index, count);
    host.put_in_place();
    plugin.emplace("hdf5", host);
  }
  // Alone, and elsewhere than <folder>/storm.
  explicit ServerOf(const std::string& basename) : host(with_basename({}, basename), {}) {
    host.place(0, 1);
    plugin.emplace("hdf5", host);
  }
  static Settings with_basename(Settings settings, const std::string& basename) {
    settings.insert(settings.begin(), {{"basename", basename}, {"retry-ms", "0"}});
    return settings;
  }
  int store(std::int64_t step, std::size_t values = 4) {
    Blocks blocks(step);
    const std::vector<float> data(values, static_cast<float>(step));
    const dc_variable_info_t variable = variable_info(0, "fields/v", DC_FLOAT32, 1);
    blocks.add(variable, host.view()->server_index, {static_cast<std::int64_t>(values)}, data);
    return plugin->on_step(blocks.view());
  }

  FakeHost host;
  std::optional<RunningPlugin> plugin;
};

}  // namespace damaris::test
