// Whether a run has ended by itself, from its lines in the manifest: one that was killed has not, nor has one that goes on, nor one whose
// clients were lost.
// Used by: Reader for `damaris verify`, and the start of a run with exists="auto".
// Before it: the lines of a run and of its servers, in order. After it: COMPLETE, or that the earlier run is kept.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "entries.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

class EndOfRun {
 public:
  EndOfRun() = default;                  // of a run whose line is unreadable: it has not ended
  static EndOfRun of_earlier_version();  // it did not record all ends: the run counts as ended
  explicit EndOfRun(const RunEntry& run);
  void note(const ServerEntry& entry);
  bool has_ended() const { return !lost_ && (all_ || (servers_ > 0 && ended_.size() >= servers_)); }
  // Why it has not, for a person.
  std::string why_not() const;

 private:
  using Name = std::pair<std::string, int>;  // host and index; where the number of servers is known, the index alone

  bool apart_ = false;
  std::size_t servers_ = 0;  // that have joined it
  std::set<Name> joined_, ended_;
  bool all_ = false, lost_ = false;
};

}  // namespace damaris::manifest
