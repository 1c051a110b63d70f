// A run of several servers: each one's plugin writes its files, and the views over all of them are made of what they hold.
// Used by: tests of the master file and of XDMF, one thread.
// Before it: blocks made by hand. After it: ReadFile and other readers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/views/master_file.hpp"
#include "plugins/hdf5/views/xdmf.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/hdf5/scan.hpp"
#include "unit/plugins/loaded_plugin.hpp"

namespace damaris::test {

class MadeRun {
 public:
  // Files are <folder>/<stem>.node7.s<server>.i<step>.h5.
  MadeRun(const std::string& folder, int servers, const std::vector<dc_variable_info_t>& variables, std::string stem = "storm",
          const Settings& more = {})
      : folder_(folder), stem_(std::move(stem)), variables_(variables) {
    for (int server = 0; server < servers; ++server) {
      Settings settings = {{"basename", folder + "/" + stem_}};
      settings.insert(settings.end(), more.begin(), more.end());
      auto& host = *hosts_.emplace_back(std::make_unique<FakeHost>(settings, variables_));
      host.place(server, servers);
      auto& plugin = *plugins_.emplace_back(std::make_unique<RunningPlugin>("hdf5", host));
      INFO(host.failure);
      REQUIRE(plugin.init_code == DC_OK);
    }
  }

  // Server 0 ends last, as it waits for the end of the others, which are on its thread here.
  ~MadeRun() {
    while (!plugins_.empty()) plugins_.pop_back();
  }

  // What one server stores of a step, and its record in the manifest.
  void store(int server, Blocks& blocks) {
    const dc_step_t& step = blocks.view();
    const int code = plugins_.at(static_cast<std::size_t>(server))->on_step(step);
    INFO(hosts_.at(static_cast<std::size_t>(server))->failure);
    REQUIRE(code == DC_OK);
    manifest::StepEntry& record = records[step.step];
    record.step = step.step;
    if (step.has_time != 0) record.time = step.time;
    record.servers.push_back(server);
    record.complete = record.servers.size() == hosts_.size();
    std::vector<std::string> paths;
    for (const dc_variable_info_t& variable : variables_) paths.push_back(variable.path);
    record.files.push_back(scan_file(path(server, step.step), server, paths));
  }
  std::string path(int server, std::int64_t step) const {
    return folder_ + "/" + stem_ + ".node7.s" + std::to_string(server) + ".i" + std::to_string(step) + ".h5";
  }

  // <folder>/run.h5 and .xmf as of now.
  void write_views() const {
    const hdf5::QuietErrors quiet;
    const hdf5::ViewPlace place{folder_, "run", "node7"};
    const hdf5::GlobalView view = hdf5::global_view(records, *hosts_.front()->view());
    const hdf5::ViewNames names(view, *hosts_.front()->view());
    hdf5::MasterWriter master(place, view, names, records, *hosts_.front()->view(), false);
    while (master.write_piece()) {
    }
    hdf5::write_xdmf(place, view, names);
  }

  // The end of the run: the plugins tell each other what they stored, and the first one leaves <stem>.h5 and <stem>.xmf.
  void finish() {
    for (std::size_t from = 0; from < hosts_.size(); ++from)
      for (const auto& [to, message] : hosts_[from]->sent)
        CHECK(plugins_.at(static_cast<std::size_t>(to))->on_message(static_cast<int>(from), message) == DC_OK);
    for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin) CHECK((*plugin)->finalize() == DC_OK);
  }

  const FakeHost& host(int server) const { return *hosts_.at(static_cast<std::size_t>(server)); }

  hdf5::Steps records;

 private:
  std::string folder_, stem_;
  std::vector<dc_variable_info_t> variables_;
  std::vector<std::unique_ptr<FakeHost>> hosts_;
  std::vector<std::unique_ptr<RunningPlugin>> plugins_;
};

}  // namespace damaris::test
