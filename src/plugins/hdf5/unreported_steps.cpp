#include "unreported_steps.hpp"

#include <new>
#include <utility>

namespace damaris::hdf5 {
namespace {

constexpr char kLost[] =
    " is not stored: the server is out of memory, if its log gives no other reason; give the dedicated core more, or write less in "
    "one step";

}  // namespace

void UnreportedSteps::add(manifest::StepEntry&& record, Instant complete, bool lost) {
  if (steps_.size() == kMost) throw std::bad_alloc();
  steps_.push_back({std::move(record), complete, lost});
}

void UnreportedSteps::report_to(manifest::ManifestWriter& writer, int server, const manifest::FileNames& names) {
  while (!steps_.empty()) {
    auto& [record, complete, lost] = steps_.front();
    if (record.servers.empty()) record.servers.push_back(server);
    if (record.at.empty()) record.at = utc_now_ms();
    if (lost) record.failures.push_back(names.final_path(record.step) + kLost);
    lost = false;
    writer.report(std::move(record), complete);
    steps_.erase(steps_.begin());
  }
}

}  // namespace damaris::hdf5
