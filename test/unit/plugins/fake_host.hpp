// A server's side of the plugin interface, made by hand: facts and settings to give, and everything a plugin said to look at.
// Used by: tests of plugins, one thread.
// Before it: the test. After it: the C table of a plugin.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <utility>
#include <vector>

namespace damaris::test {

struct ReportedFile {
  std::string path;
  std::uint64_t bytes = 0, raw_bytes = 0;
};

// Keys and values of the XML element that names the plugin.
using Settings = std::vector<std::pair<std::string, std::string>>;

class FakeHost {
 public:
  explicit FakeHost(Settings settings = {}, const std::vector<dc_variable_info_t>& variables = {})
      : settings_(std::move(settings)), variables_(variables) {
    for (const auto& [key, value] : settings_) setting_views_.push_back({key.c_str(), value.c_str()});
    host_.abi = DC_PLUGIN_ABI;
    host_.size_bytes = sizeof host_;
    host_.self = this;
    host_.simulation = "storm";
    host_.job = "local";
    host_.config_file = "storm.xml";
    host_.host_name = "node7";
    host_.server_index = 3;
    host_.server_count = 4;
    host_.client_count = static_cast<int>(clients_.size());
    host_.clients = clients_.data();
    host_.variable_count = variables_.size();
    host_.variables = variables_.data();
    host_.setting_count = setting_views_.size();
    host_.settings = setting_views_.data();
    host_.log = [](void* self, int level, const char* text) { of(self).lines.push_back({level, text}); };
    host_.fail = [](void* self, const char* sentence) { of(self).failure = sentence; };
    host_.stored = [](void* self, const char* path, std::uint64_t bytes, std::uint64_t raw) {
      of(self).files.push_back({path, bytes, raw});
    };
    host_.send = [](void* self, int server, const void* data, std::uint64_t bytes) -> int {
      if (!of(self).connected) return DC_E_NO_MPI;
      of(self).sent.emplace_back(server, std::string(static_cast<const char*>(data), bytes));
      return DC_OK;
    };
    host_.waits = [](void* self, const char* text) { of(self).waits = text; };
    host_.partial = [](void* self, std::int64_t step) { of(self).partial.push_back(step); };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const dc_host_t* view() const { return &host_; }
  // Before init: another place than the fourth of four independent servers, among those of an MPI run.
  void place(int index, int count) {
    host_.communicator = this;  // only looked at
    host_.server_index = index;
    host_.server_count = count;
  }
  void set_name(const char* name) { host_.host_name = name; }
  void set_job(const char* job) { host_.job = job; }
  void set_regions(const char* regions) { host_.regions = regions; }
  // Before init: no way to the other servers.
  void cut_off() {
    connected = false;
    host_.communicator = nullptr;
  }
  // Before init: as a process in place under MPI, where servers are counted and do not reach each other.
  void put_in_place() { connected = false; }
  void lose(std::int32_t client, std::int64_t last_step) {
    lost_.push_back({client, last_step});
    host_.lost_count = lost_.size();
    host_.lost = lost_.data();
  }

  std::vector<std::pair<int, std::string>> lines;  // level and text of each host->log
  std::string failure;                             // of the last host->fail
  std::string waits;                               // of the last host->waits
  std::vector<ReportedFile> files;
  std::vector<std::int64_t> partial;              // of each host->partial
  std::vector<std::pair<int, std::string>> sent;  // to which server, and what
  bool connected = true;

 private:
  static FakeHost& of(void* self) { return *static_cast<FakeHost*>(self); }

  Settings settings_;
  std::vector<dc_setting_t> setting_views_;
  std::vector<dc_variable_info_t> variables_;
  std::vector<std::int32_t> clients_ = {0, 1, 2, 3};
  std::vector<dc_lost_t> lost_;
  dc_host_t host_ = {};
};

}  // namespace damaris::test
