// How far a replay is off: in total, by process, by kind of call, and where the I/O began.
// Used by: damaris-replay, one thread.
// Before it: a plan, its times, and what each repetition took. After it: standard output, JSON.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_fwd.hpp"
#include "replay/player.hpp"
#include "tools/replay/sums.hpp"

namespace damaris::replay {

// Of times of many operations. Units: ns.
struct Spread {
  std::uint64_t p50 = 0, p99 = 0, most = 0;
};

// What is kept of one repetition.
struct Repetition {
  std::uint64_t total = 0, short_reads = 0;
  std::vector<std::uint64_t> ends;
  KindSums kinds;
  Spread late;  // I/O began so much behind the thread's own virtual clock: the player's error
  Spread off;   // and so much before or behind the plan's times
};

class ErrorReport {
 public:
  // The plan and its times outlive it. `folder` is what the user named.
  ErrorReport(const Plan& plan, const Times& times, std::string folder);

  void add(const Played& played);
  std::string text() const;
  Json json() const;

 private:
  struct Compared {
    double planned = 0, replayed = 0, largest = 0;  // seconds; the median, and the largest error of a repetition

    double error() const { return replayed - planned; }
  };
  template <class Value>
  Compared compared(double planned, Value value) const;
  Compared total() const;
  Compared process(std::size_t index) const;
  Compared kind(std::size_t index) const;
  Spread spread(Spread Repetition::*which) const;
  std::vector<std::string> notes() const;
  std::string kinds_table() const;
  std::string processes_table() const;

  const Plan& plan_;
  const Times& times_;
  const std::string folder_;
  const KindSums planned_;
  const double crowded_;
  std::vector<Repetition> repetitions_;
};

}  // namespace damaris::replay
