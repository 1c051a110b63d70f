#include "write_schedule.hpp"

#include <algorithm>
#include <utility>

namespace damaris::hdf5 {
namespace {

constexpr std::size_t kIntervals = 4;  // kept
constexpr double kDecay = 0.75;        // of the difference, with each faster write

const std::string kPrefix = WriteSchedule::kMessages;

class Immediate : public WriteSchedule {
 public:
  bool may_write(const dc_step_t&, Instant) override { return true; }
  void written(double) override {}
};

}  // namespace

std::unique_ptr<WriteSchedule> make_schedule(const dc_host_t& host, const Settings& settings) {
  if (settings.schedule == ScheduleKind::slots) return std::make_unique<Slots>(host.server_index, host.server_count);
  if (settings.schedule == ScheduleKind::coordinated) return std::make_unique<Coordinated>(host, settings);
  return std::make_unique<Immediate>();
}

bool Slots::may_write(const dc_step_t& step, Instant now) {
  if (step.step != step_) note_completed(step, now);
  return step.urgent != 0 || step.age_s >= slot_begins();
}

void Slots::note_completed(const dc_step_t& step, Instant now) {
  const Instant completed = now - std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(step.age_s));
  if (step_ >= 0) intervals_.push_back(std::chrono::duration<double>(completed - completed_).count());
  if (intervals_.size() > kIntervals) intervals_.pop_front();
  step_ = step.step;
  completed_ = completed;
}

// Uses the shortest of the last intervals: if they vary, a slot should be too early rather than too late.
double Slots::slot_begins() const {
  if (intervals_.empty() || count_ < 2) return 0;
  const double interval = *std::min_element(intervals_.begin(), intervals_.end());
  const double even = interval * index_ / count_;
  if (write_s_ <= interval / count_) return even;
  return std::max(0.0, interval - write_s_) * index_ / (count_ - 1);
}

void Slots::written(double seconds) { write_s_ = std::max(seconds, seconds + (write_s_ - seconds) * kDecay); }

Coordinated::Coordinated(const dc_host_t& host, const Settings& settings)
    : host_(host), timeout_(settings.turn_timeout_ms), free_(settings.writers) {}

void Coordinated::send(int server, const std::string& what, std::int64_t number) const {
  const std::string text = kPrefix + what + " " + std::to_string(number);
  host_.send(host_.self, server, text.data(), text.size());
}

bool Coordinated::may_write(const dc_step_t& step, Instant now) {
  if (state_ == State::granted) return true;
  if (state_ == State::idle) {
    state_ = State::requested;
    requested_ = now;
    urgent_ = false;
    send(0, "request", ++number_);
  }
  if (step.urgent != 0 && !std::exchange(urgent_, true)) send(0, "urgent", number_);
  if (now - requested_ < timeout_) return false;
  const std::string line = "hdf5: server " + std::to_string(host_.server_index) + " waited " + std::to_string(timeout_.count()) +
                           " ms for the grant to write step " + std::to_string(step.step) + ", and writes without it";
  host_.log(host_.self, 1, line.c_str());
  return true;
}

void Coordinated::written(double) {
  if (state_ == State::granted) send(0, "done", number_);
  if (state_ == State::requested) send(0, "cancel", number_);
  state_ = State::idle;
}

void Coordinated::receive(int from, const std::string& message) {
  const std::size_t space = message.rfind(' ');
  const std::string what = message.substr(kPrefix.size(), space - kPrefix.size());
  const std::int64_t number = std::stoll(message.substr(space));
  if (what == "grant") {
    if (state_ == State::requested && number == number_) state_ = State::granted;
    return;
  }
  const auto mine = [&](const Request& request) { return request.server == from && request.number == number; };
  const auto waiting = std::find_if(queue_.begin(), queue_.end(), mine);
  const bool waits = waiting != queue_.end();
  if (waits) queue_.erase(waiting);
  if (what == "request") queue_.push_back({from, number});
  if (what == "urgent" && waits) queue_.push_front({from, number});
  if (what == "done" || (what == "cancel" && !waits)) ++free_;  // the grant may still be in flight
  grant();
}

void Coordinated::grant() {
  for (; free_ > 0 && !queue_.empty(); --free_) {
    const Request next = queue_.front();
    queue_.pop_front();
    send(next.server, "grant", next.number);
  }
}

}  // namespace damaris::hdf5
