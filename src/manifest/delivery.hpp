// What one server has delivered of a run, as its log says: servers record their steps in order; and what its clients have not delivered.
// Used by: manifest.hpp, to decide whether a step is whole and whether a run has ended; writer.hpp at the end of a server.
// Before it: the records of a log, in order. After it: the reasons why a step is partial.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "entries.hpp"

namespace damaris::manifest {

// Clients of a server that died, were stopped or never attached: they deliver nothing for later steps.
struct Losses {
  std::map<std::int32_t, std::int64_t> last_steps;  // by client: the last step that it ended; -1: none
  std::uint64_t never_attached = 0;

  // Adds to `record` the clients that have not ended its step.
  void add_to(StepEntry& record) const;
};

Losses losses_of(const dc_host_t& host);
Json to_json(const Losses& losses);
// Throws Json::exception.
Losses losses_from(const Json& json);

class Delivery {
 public:
  void note(const StepEntry& step);
  void note_end(const Losses& losses, bool recovered);
  // The server came back, or records are missing: what it delivers next does not vouch for the steps in between.
  void interrupt();

  // Whether it had nothing to deliver of a step that it has not recorded. A server that has recorded a later step with all its clients had
  // not; nor had one that has ended, except for what its lost clients did not send.
  bool had_nothing(std::int64_t step) const { return whole_until_ >= step && !is_in_gap(step); }
  // What it has lost, for a step that it has not recorded; nullptr if it still has to record it.
  const Losses* losses_of(std::int64_t step) const { return ended_ && !is_in_gap(step) ? &losses_ : nullptr; }
  // By itself, with all its clients.
  bool has_ended_well() const { return ended_ && !recovered_ && !has_losses(); }
  bool has_ended() const { return ended_ && !recovered_; }
  bool has_losses() const { return !losses_.last_steps.empty() || losses_.never_attached > 0; }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min(), kOpen = std::numeric_limits<std::int64_t>::max();

  std::int64_t delivered_until() const;
  bool is_in_gap(std::int64_t step) const;

  std::int64_t whole_until_ = kNone;
  bool ended_ = false, recovered_ = false;
  Losses losses_;
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;  // the steps around them; the last may be open
};

// The reasons in the step's own records, with the missing clients of `judged`: failures, missing clients, refused writes. At most a hundred
// sentences of each kind, and the number of further ones.
std::vector<std::string> flaws_of(const StepEntry& step, const StepEntry& judged);

}  // namespace damaris::manifest
