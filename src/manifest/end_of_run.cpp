#include "end_of_run.hpp"

namespace damaris::manifest {

EndOfRun::EndOfRun(const RunEntry& run) : apart_(run.apart), servers_(static_cast<std::size_t>(run.apart ? 1 : run.servers)) {
  if (run.apart) joined_.insert({run.host, run.first_server});
  all_ = !run.records_end;
}

EndOfRun EndOfRun::of_earlier_version() {
  EndOfRun end;
  end.all_ = true;
  return end;
}

void EndOfRun::note(const ServerEntry& entry) {
  const Name name = {apart_ ? entry.host : "", entry.server};
  if (entry.what == ServerEntry::What::joined) {
    joined_.insert(name);
    ended_.erase(name);
    if (apart_) servers_ = joined_.size();
  } else if (!entry.recovered) {
    ended_.insert(name);
    all_ = all_ || entry.all;
    lost_ = lost_ || !entry.losses.last_steps.empty() || entry.losses.never_attached > 0;
  }
}

std::string EndOfRun::why_not() const {
  if (lost_) return "the run has lost clients";
  if (servers_ > 1 && !ended_.empty()) return "some of its servers have not ended";
  return "the run has not ended";
}

}  // namespace damaris::manifest
