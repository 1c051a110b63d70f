// Which steps all servers have reported: the memory of the server that keeps the manifest.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: reports of the servers, each in step order. After it: lines of the manifest, in step order.
#pragma once

#include <map>
#include <vector>

#include "entries.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

class StepCollector {
 public:
  explicit StepCollector(int servers);

  // A server that reports a step has nothing to say of earlier ones any more.
  void add(int server, StepEntry&& record);
  // It has nothing to say of the steps up to `step` either; of these `losses` are missing.
  void pass(int server, std::int64_t step, Losses losses = {});
  // Whether the server has passed all steps there can be.
  bool has_told_all(int server) const;
  // The steps that every server has reported or passed; each is returned once.
  std::vector<StepEntry> ready();
  // At the end: all that is left. Steps that some server has neither reported nor passed are not complete.
  std::vector<StepEntry> rest();

 private:
  // Of the servers that have passed the step without a report.
  void add_who_passed(StepEntry& record) const;

  std::vector<std::int64_t> last_;  // by server: the last step it has reported
  std::vector<Losses> losses_;      // by server: as it said when it passed something last
  std::map<std::int64_t, StepEntry> open_;
};

}  // namespace damaris::manifest
