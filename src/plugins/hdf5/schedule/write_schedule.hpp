// When a server may write: at once, in its slot of the time between two steps, or when the servers have agreed that it may.
// Used by: the hdf5 plugin, on the server's dispatch thread; none of it blocks.
// Before it: a step is complete. After it: storage.hpp writes.
// Source: the paper on dedicated cores, section 4 (slots) and its future work (coordination).
#pragma once

#include <damaris/plugin.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "../settings/settings.hpp"
#include "core/base/retry.hpp"

namespace damaris::hdf5 {

class WriteSchedule {
 public:
  static constexpr const char* kMessages = "turn:";  // how its messages begin

  virtual ~WriteSchedule() = default;
  // Whether the server may write this step now; asked again and again until it may, and then written() follows.
  virtual bool may_write(const dc_step_t& step, Instant now) = 0;
  // Before the step is written. Throws Failure when may_write() has waited in vain.
  virtual void begin(std::int64_t step) { (void)step; }
  // The step is written, which took `seconds`.
  virtual void written(double seconds) = 0;
  // This server brings nothing of the steps up to `step` that it has not brought yet.
  virtual void passed(std::int64_t step) { (void)step; }
  // A message of the schedule of server `from`: what send() of another server sent.
  virtual void take(int from, const std::string& message) {
    (void)from;
    (void)message;
  }
};

std::unique_ptr<WriteSchedule> make_schedule(const dc_host_t& host, const Settings& settings);

// As many slots as servers in the time between two steps. Where writing takes longer than a slot, the last server begins so
// early that it is done by the next step; where it takes longer than the step, nobody waits. The first step has no
// estimate and is written at once. An urgent step (`urgent`) does not wait for its slot.
class Slots : public WriteSchedule {
 public:
  Slots(int index, int count) : index_(index), count_(count) {}
  bool may_write(const dc_step_t& step, Instant now) override;
  void written(double seconds) override;
  // Seconds from a step's end to the slot of this server.
  double slot_begins() const;

 private:
  void note_completed(const dc_step_t& step, Instant now);

  int index_, count_;
  std::int64_t step_ = -1;
  Instant completed_ = {};
  std::deque<double> intervals_;  // the last few between steps, seconds
  double write_s_ = 0;            // the longest of late, forgotten slowly
};

// Server 0 lets at most `writers` write at a time, in the order in which they asked; urgent ones first.
class Coordinated : public WriteSchedule {
 public:
  Coordinated(const dc_host_t& host, const Settings& settings);
  bool may_write(const dc_step_t& step, Instant now) override;
  void written(double seconds) override;
  void take(int from, const std::string& message) override;

 private:
  enum class State { idle, asked, granted };
  struct Ask {
    int server;
    std::int64_t number;
  };
  void send(int server, const std::string& what, std::int64_t number) const;
  void grant();

  const dc_host_t& host_;
  std::chrono::milliseconds timeout_;
  State state_ = State::idle;
  std::int64_t number_ = 0;  // of the last question, so that a late answer is not taken for one to a later question
  bool urgent_ = false;
  Instant asked_ = {};
  // Of server 0:
  int free_;
  std::deque<Ask> queue_;
};

}  // namespace damaris::hdf5
