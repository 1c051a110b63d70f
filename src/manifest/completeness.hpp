// Whether a step is complete: compares what all servers of its run had to deliver with the lines of the manifest. No other code
// decides this.
// Used by: Reader, and so the views on the server's work thread, restart and `damaris verify`.
// Before it: the lines of one run, in order. After it: StepEntry::complete of the steps that the reader returns.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "entries.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

// The reasons in the step's own lines: failures, missing clients, refused writes. At most a hundred sentences of each kind, and the
// number of further ones.
std::vector<std::string> flaws_of(const StepEntry& step);

class Completeness {
 public:
  // For lines before the first run: its servers are unknown.
  Completeness() = default;
  explicit Completeness(const RunEntry& run);
  // For a run whose line is unreadable: none of its steps counts as complete.
  static Completeness of_unknown_run();

  // Takes a line about a step into account; call it before the line is merged with others.
  void note(const StepEntry& line);
  void note(const ServerEntry& entry);
  // Why `step`, merged from all its lines, is incomplete; empty if it is complete.
  std::vector<std::string> reasons(const StepEntry& step) const;
  // The servers that had to deliver the step and have not reported it, for a message: "1", or "node7/0, node8/0 and 5 others"; ""
  // if there are none.
  std::string unreported_servers(const StepEntry& step) const;

 private:
  // Servers report their steps in order. So a server that has reported a later step with all its clients had nothing to deliver for
  // steps that it does not name; nor had a server that has ended, except for its lost clients. Neither holds for steps in a gap:
  // those after what a server had delivered when it was killed, up to its first one after it came back.
  struct Delivery {
    // Up to which step it has delivered all it had.
    std::int64_t delivered_until() const;
    void come_back(std::int64_t highest);
    bool is_in_gap(std::int64_t step) const;

    std::int64_t whole_until = std::numeric_limits<std::int64_t>::min();
    bool ended = false;
    Losses losses;
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;  // the steps around them; the last may be open
  };
  using Name = std::pair<std::string, int>;  // host and index; where the number of servers is known, the index alone

  Name name_of(const std::string& host, int server) const { return {apart_ ? host : "", server}; }
  // nullptr if the server is not part of the run.
  Delivery* delivery_of(const Name& name);
  bool is_known(const Name& name) const { return servers_.count(name) > 0; }
  std::set<Name> reporters_of(const StepEntry& step) const;
  template <class Each>
  void for_each_absent(const StepEntry& step, Each&& each) const;

  std::size_t all() const { return apart_ ? servers_.size() : static_cast<std::size_t>(count_); }

  bool is_unknown_ = false;           // the run's line is unreadable
  bool apart_ = false;                // the servers are independent: those that have joined must deliver
  int count_ = 0;                     // else: the number of servers in the run's line
  std::map<Name, Delivery> servers_;  // those that a line names
  std::int64_t highest_ = std::numeric_limits<std::int64_t>::min();  // of all lines
  std::set<std::int64_t> flawed_;                                    // steps that a line marks as incomplete without a reason
};

}  // namespace damaris::manifest
