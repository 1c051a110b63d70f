// The records of steps between the storage and the manifest. There is room in advance: the record of a step that is lost for want of memory
// needs none.
// Used by: storage.hpp, on the server's work thread.
// Before it: the outcome of a step. After it: the manifest's writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "manifest/entries.hpp"
#include "manifest/output_folder.hpp"
#include "manifest/writer.hpp"

namespace damaris::hdf5 {

class UnreportedSteps {
 public:
  UnreportedSteps() { steps_.reserve(kMost); }

  // In step order. `lost`: for a reason that the record does not give yet. Throws std::bad_alloc for more than kMost steps.
  void add(manifest::StepEntry&& record, Instant complete, bool lost = false);
  // Reports all of them for this server. Those that it has not reported when it throws std::bad_alloc are still here.
  void report_to(manifest::ManifestWriter& writer, int server, const manifest::FileNames& names);

 private:
  static constexpr std::size_t kMost = 64;  // steps in a row that are lost for want of memory
  struct Step {
    manifest::StepEntry record;
    Instant complete;
    bool lost;
  };
  std::vector<Step> steps_;
};

}  // namespace damaris::hdf5
