// A log made by hand, as a server would write it.
// Used by: tests of the manifest and of restart, one thread.
// Before it: a folder. After it: Manifest.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.hpp"
#include "manifest/log.hpp"
#include "manifest/output_folder.hpp"
#include "manifest/records.hpp"

namespace damaris::test {

class HandLog {
 public:
  // The log of one of `servers` servers; 0: they are independent. It begins with a run unless it is there.
  HandLog(const std::string& basename, const manifest::LogName& name, int servers, bool replaces_all = false)
      : log_(basename.substr(0, basename.rfind('/') + 1) + name.of(basename.substr(basename.rfind('/') + 1))), name_(name) {
    if (!log_.is_empty()) return;
    manifest::RunEntry run;
    run.run = "a";
    run.simulation = "storm";
    run.servers = servers;
    run.apart = servers == 0;
    run.replaces_all = replaces_all;
    log_.append(manifest::run_record(run, name));
  }
  void add(manifest::StepEntry step) {
    step.servers = {name_.server};
    log_.append(step);
  }
  void add(const Json& record) { log_.append(record); }
  // With a file of one dataset, so that a run replaces what was before.
  void stores(std::int64_t number, std::vector<std::int32_t> missing = {}) {
    manifest::StepEntry step;
    step.step = number;
    step.missing = std::move(missing);
    step.complete = step.missing.empty();
    step.files.emplace_back().name =
        "storm." + name_.host + ".s" + std::to_string(name_.server) + ".i" + std::to_string(number) + ".h5";
    step.files.back().server = name_.server;
    step.files.back().datasets.emplace_back();
    step.files.back().datasets.back().path = step.files.back().datasets.back().variable = "v";
    add(std::move(step));
  }
  // Without data.
  void passes(std::int64_t number, std::vector<std::string> failures = {}) {
    manifest::StepEntry step;
    step.step = number;
    step.complete = failures.empty();
    step.failures = std::move(failures);
    add(std::move(step));
  }
  void ends(const manifest::Losses& losses = {}, bool recovered = false) { log_.append(manifest::end_record(losses, recovered)); }
  void comes_back() { log_.append(manifest::back_record({})); }
  const std::string& path() const { return log_.path(); }

 private:
  manifest::Log log_;
  manifest::LogName name_;
};

}  // namespace damaris::test
