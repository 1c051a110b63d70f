// Decides when a server may write: at once, in its slot of the interval between two steps, or when server 0 grants it.
// Used by: the hdf5 plugin, on the server's work thread; no call blocks.
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
#include "core/base/clock.hpp"

namespace damaris::hdf5 {

class WriteSchedule {
 public:
  static constexpr const char* kMessages = "turn:";  // the prefix of its messages

  virtual ~WriteSchedule() = default;
  // Whether the server may write this step now; polled until it returns true, then followed by written().
  virtual bool may_write(const dc_step_t& step, Instant now) = 0;
  // Call before the step is written. Throws Failure if the wait of may_write() timed out.
  virtual void begin(std::int64_t step) { (void)step; }
  // The step was written, which took `seconds`.
  virtual void written(double seconds) = 0;
  // The step was not written, and will be tried again: may_write() is asked for it once more.
  virtual void again(std::int64_t step) { (void)step; }
  // This server will write no further step up to `step`.
  virtual void passed(std::int64_t step) { (void)step; }
  // Handles a message of the schedule of server `from`.
  virtual void receive(int from, const std::string& message) {
    (void)from;
    (void)message;
  }
};

std::unique_ptr<WriteSchedule> make_schedule(const dc_host_t& host, const Settings& settings);

// Divides the interval between two steps into one slot per server. If writing takes longer than a slot, the last server begins so early
// that it finishes before the next step; if it takes longer than the interval, no server waits. The first step is written at once, for
// lack of an estimate. A step with `urgent` does not wait for its slot.
class Slots : public WriteSchedule {
 public:
  Slots(int index, int count) : index_(index), count_(count) {}
  bool may_write(const dc_step_t& step, Instant now) override;
  void written(double seconds) override;
  // Seconds from the end of a step to this server's slot.
  double slot_begins() const;

 private:
  void note_completed(const dc_step_t& step, Instant now);

  int index_, count_;
  std::int64_t step_ = -1;
  Instant completed_ = {};
  std::deque<double> intervals_;  // the last few, in seconds
  double write_s_ = 0;            // the longest recent write, decaying slowly
};

// Server 0 grants at most `writers` servers at a time, in order of request, urgent ones first.
class Coordinated : public WriteSchedule {
 public:
  Coordinated(const dc_host_t& host, const Settings& settings);
  bool may_write(const dc_step_t& step, Instant now) override;
  void written(double seconds) override;
  void receive(int from, const std::string& message) override;

 private:
  enum class State { idle, requested, granted };
  struct Request {
    int server;
    std::int64_t number;
  };
  void send(int server, const std::string& what, std::int64_t number) const;
  void grant();

  const dc_host_t& host_;
  std::chrono::milliseconds timeout_;
  State state_ = State::idle;
  std::int64_t number_ = 0;  // of the last request, so that a late grant of an earlier request is ignored
  bool urgent_ = false;
  Instant requested_ = {};
  // Of server 0:
  int free_;
  std::deque<Request> queue_;
};

}  // namespace damaris::hdf5
