// Whether a step is whole: what all servers of its run were to deliver against what the lines of the manifest say. The one place
// that judges it.
// Used by: Reader, and so the views on the server's dispatch thread, restart and `damaris verify`.
// Before it: the lines of one run, in their order. After it: StepEntry::complete of what the reader hands out.
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

// What the step itself says against it: failures, clients that are missing, writes that were refused. At most a hundred sentences of a
// kind, and how many more there are.
std::vector<std::string> flaws_of(const StepEntry& step);

class Completeness {
 public:
  // Of lines before that of any run: nothing is known of servers.
  Completeness() = default;
  explicit Completeness(const RunEntry& run);
  // Of a run whose line cannot be read: none of its steps is known to be whole.
  static Completeness of_unknown_run();

  // A line about a step, before it is merged with others.
  void note(const StepEntry& line);
  void note(const ServerEntry& word);

  // Why `step`, which all its lines are merged into, is not whole; empty: it is.
  std::vector<std::string> reasons(const StepEntry& step) const;
  // Servers that were to deliver it and have not said what became of it, as a user knows them: "1", or "node7/0, node8/0 and 5
  // others". "": there are none.
  std::string silent(const StepEntry& step) const;

 private:
  // Servers report their steps in order. So one that has reported a later step with all its clients had nothing to deliver
  // of those that it does not name; so had one that has ended, but for the clients that it had lost.
  struct Delivery {
    std::int64_t whole_until = std::numeric_limits<std::int64_t>::min();
    bool ended = false;
    Losses losses;
  };
  using Name = std::pair<std::string, int>;  // host and index; a run that counts its servers knows them by the index alone

  Name name_of(const std::string& host, int server) const { return {apart_ ? host : "", server}; }
  // nullptr: it is none of the run.
  Delivery* known(const Name& name);
  std::set<Name> tellers_of(const StepEntry& step) const;
  template <class Each>
  void for_each_absent(const StepEntry& step, Each&& each) const;

  std::size_t all() const { return apart_ ? servers_.size() : static_cast<std::size_t>(count_); }

  bool is_unknown_ = false;           // the run's line cannot be read
  bool apart_ = false;                // the servers do not know of each other: those that have joined are to deliver
  int count_ = 0;                     // of the others: what the run's line says, which costs nothing
  std::map<Name, Delivery> servers_;  // that a line names
  std::int64_t highest_ = std::numeric_limits<std::int64_t>::min();  // step of a line
  std::set<std::int64_t> flawed_;  // steps of which a line says that it is not complete, and not why
};

}  // namespace damaris::manifest
