// Lane, doorbell, news of room and mailbox, without a region around them.
#include <damaris/damaris.h>

#include <cstring>
#include <new>

#include "core/shm/block.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/steps.hpp"
#include "model/common.hpp"

namespace damaris::explorer {
namespace {

using shm::LaneHeader;
using shm::RegionHeader;

// Header, lane and slot, without a region around them.
class Bare : public Scenario {
 public:
  explicit Bare(std::byte* memory)
      : base_(memory),
        region_(*new (memory) RegionHeader{}),
        lane_(new (memory + 4096) LaneHeader{}),
        slot_(*new (memory + 8192) shm::ClientSlot{}) {
    std::memset(static_cast<void*>(shm::ring_of(lane_)), 0, kRing * sizeof(shm::Message));
  }
  std::string field(std::size_t offset) const override {
    const auto is = [&](const auto& field) { return reinterpret_cast<const std::byte*>(&field) == base_ + offset; };
    if (is(lane_->head)) return "head";
    if (is(lane_->tail)) return "tail";
    if (is(region_.doorbell)) return "doorbell";
    if (is(region_.server_sleeping)) return "server_sleeping";
    if (is(region_.progress)) return "progress";
    if (is(region_.clients_waiting)) return "clients_waiting";
    if (is(slot_.mail_head)) return "mail_head";
    if (is(slot_.mail_tail)) return "mail_tail";
    if (is(slot_.mail_waiting)) return "mail_waiting";
    if (is(region_.last_processed)) return "last_processed";
    return "bytes";
  }

 protected:
  void check(const shm::Message& event, std::int64_t step) {
    expect(event.step == step && event.serial == static_cast<std::uint64_t>(step) && event.block_offset == 7u * event.serial,
           "events come in order, whole, none lost or doubled");
  }

  std::byte* base_;
  RegionHeader& region_;
  LaneHeader* lane_;
  shm::ClientSlot& slot_;
};

// One sends events, one takes them.
class Events : public Bare {
 public:
  Events(std::byte* memory, int events) : Bare(memory), events_(events) {}

  std::vector<std::function<void()>> threads() override {
    return {[this] { send(); }, [this] { take(); }};
  }

 protected:
  virtual void send() = 0;
  virtual void take() = 0;

  const int events_;
};

class LaneScenario : public Events {
 public:
  using Events::Events;

 private:
  void send() override {
    shm::LaneWriter writer(lane_, kRing);
    for (int step = 0; step < events_; ++step) {
      // Either way of finding that there is room must do for the next push.
      while (step % 2 == 0 && step > 0 && writer.more_than_half_full()) wait_for_change();
      while (!writer.try_push(event_of(step))) wait_for_change();
    }
  }
  void take() override {
    shm::LaneReader reader(lane_, kRing);
    shm::Message event;
    for (int step = 0; step < events_; ++step) {
      while (!reader.try_take(event)) wait_for_change();
      check(event, step);
    }
    expect(reader.empty() && !reader.damaged(), "nothing is left in the lane");
  }
};

// Another thread asks how many messages wait.
class WaitingScenario : public Events {
 public:
  using Events::Events;
  std::vector<std::function<void()>> threads() override {
    return {[this] { send(); }, [this] { take(); }, [this] { ask(); }};
  }

 private:
  void send() override {
    for (int step = 0; step < events_; ++step) writer_.try_push(event_of(step));
  }
  void take() override {
    shm::LaneReader reader(lane_, kRing);
    shm::Message event;
    for (int step = 0; step < events_; ++step)
      while (!reader.try_take(event)) wait_for_change();
  }
  void ask() { expect(writer_.waiting() <= kRing, "no more messages wait than the lane holds"); }

  shm::LaneWriter writer_{lane_, kRing};
};

class DoorbellScenario : public Events {
 public:
  using Events::Events;

 private:
  void send() override {
    shm::LaneWriter writer(lane_, kRing);
    for (int step = 0; step < events_; ++step) {
      while (!writer.try_push(event_of(step))) wait_for_change();
      shm::ring_server(region_);
    }
  }
  void take() override {
    shm::LaneReader reader(lane_, kRing);
    shm::Message event;
    for (int step = 0; step < events_;) {
      if (reader.try_take(event))
        check(event, step++);
      else
        shm::sleep_as_server(region_, 10, [&] { return !reader.empty(); });
    }
  }
};

class RoomScenario : public Events {
 public:
  using Events::Events;

 private:
  void send() override {
    shm::LaneWriter writer(lane_, kRing);
    for (int step = 0; step < events_;) {
      if (writer.try_push(event_of(step)))
        ++step;
      else
        shm::wait_for_progress(region_, 100, [&] { return writer.has_room(); });
    }
  }
  void take() override {
    shm::LaneReader reader(lane_, kRing);
    shm::Message event;
    for (int step = 0; step < events_; ++step) {
      while (!reader.try_take(event)) wait_for_change();
      check(event, step);
      shm::notify_lane_room(region_);
    }
  }
};

// A client sleeps until a step is processed.
class FlushScenario : public Bare {
 public:
  FlushScenario(std::byte* memory, int) : Bare(memory) { region_.last_processed.store(shm::kNoStep); }
  std::vector<std::function<void()>> threads() override {
    return {[this] { flush(); }, [this] { process(); }};
  }

 private:
  void flush() {
    const auto done = [&] { return shm::last_processed(region_) >= 0; };
    while (!done()) shm::wait_for_progress(region_, 100, done);
  }
  void process() {
    shm::publish_processed(region_, 0);
    shm::notify_progress(region_);
  }
};

class MailScenario : public Bare {
 public:
  MailScenario(std::byte* memory, const Mails& how) : Bare(memory), how_(how) {
    for (int mail = 0; mail < how.before; ++mail) shm::try_post(slot_, mail, DC_E_IO, "sentence");
  }

  std::vector<std::function<void()>> threads() override {
    return {[this] { take(); }, [this] { post(); }};
  }

 private:
  void post() {
    for (int mail = how_.before; mail < how_.before + how_.posted; ++mail)
      while (!shm::try_post(slot_, mail, DC_E_IO, "sentence")) wait_for_change();
  }
  void take() {
    for (int mail = 0; mail < how_.taken;) {
      const auto taken = shm::try_take_mail(slot_);
      if (taken)
        expect(taken->step == mail++ && taken->code == DC_E_IO && std::strcmp(taken->sentence, "sentence") == 0,
               "mails come in order and whole");
      else
        wait_for_change();
    }
  }

  Mails how_;
};

// The server posts a report, and then says in one way or another how far it is.
class SignScenario : public Bare {
 public:
  SignScenario(std::byte* memory, Sign sign) : Bare(memory), sign_(sign) {
    region_.last_processed.store(shm::kNoStep);
    region_.last_durable.store(shm::kNoStep);
    shm::set_state(slot_, shm::SlotState::attached);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { look(); }, [this] { tell(); }};
  }

 private:
  void tell() {
    shm::try_post(slot_, 0, DC_E_IO, "sentence");
    if (sign_ == Sign::processed) shm::publish_processed(region_, 0);
    if (sign_ == Sign::durable) shm::publish_durable(region_, 0);
    if (sign_ == Sign::drained) shm::set_state(slot_, shm::SlotState::drained);
  }
  bool is_there() const {
    if (sign_ == Sign::processed) return shm::last_processed(region_) >= 0;
    if (sign_ == Sign::durable) return shm::last_durable(region_) >= 0;
    return shm::state_of(slot_) != shm::SlotState::attached;
  }
  void look() {
    if (is_there()) expect(shm::try_take_mail(slot_).has_value(), "the report is there");
  }

  const Sign sign_;
};

// An open step takes the place of an old one, whose time it must not get.
class FactsScenario : public Bare {
 public:
  FactsScenario(std::byte* memory, int) : Bare(memory) {
    shm::clear_steps(region_);
    for (std::int64_t step = 0; step < kStep; ++step) shm::record_time(region_, step, 1.0);
    region_.last_processed.store(0);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] {
      shm::record_time(region_, kStep, 2.0);
      shm::LaneReader(lane_, kRing).pop();  // the message that brought the time
    }};
  }
  void check_end() override {
    bool is_known = false;
    for (const auto& [step, time] : shm::known_times(region_)) {
      expect(time == (step == kStep ? 2.0 : 1.0), "a time is of its own step");
      is_known = is_known || step == kStep;
    }
    expect(lane_->tail.load() == 0 || is_known, "what a message has brought is noted once it is out of its lane");
  }

 private:
  static constexpr std::int64_t kStep = shm::kTimes;
};

// Two clients omit writes of steps that share a word; the first may be killed.
class OmissionsScenario : public Bare {
 public:
  OmissionsScenario(std::byte* memory, bool later) : Bare(memory), steps_{later ? kLater : 0, later ? 0 : kLater} {
    shm::clear_steps(region_);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { omit(0); }, [this] { omit(1); }};
  }
  void check_end() override {
    const auto is_known = [&](std::int64_t step) {
      return shm::omission_of(region_, step).is_of(step) || step <= shm::omitted_until(region_);
    };
    for (int i : {0, 1})
      expect((region_.left_out.load() >> i & 1) == 0 || is_known(steps_[i]), "a recovery knows of each step that lacks writes");
  }

 private:
  void omit(int client) {
    shm::omit(region_, steps_[client], shm::Omission::drop(steps_[client]));
    region_.left_out.fetch_add(1u << client, std::memory_order_release);
  }
  static constexpr int kLater = shm::kOmissions;
  const std::int64_t steps_[2];
};

// The server gives up two steps for which there is no entry: the oldest ones go into the range, under the eyes of a client that asks about
// one of them, or about one that was stored.
class GivenUpScenario : public Bare {
 public:
  GivenUpScenario(std::byte* memory, bool stored) : Bare(memory), stored_(stored) {
    shm::clear_steps(region_);
    for (std::int64_t step = 0; step < static_cast<std::int64_t>(shm::kGivenUp); ++step) shm::give_up(region_, 2 * step, count_);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { give_up(); }, [this] { ask(); }};
  }

 private:
  void give_up() {
    shm::give_up(region_, 1000, count_);
    shm::give_up(region_, 1001, count_);
  }
  void ask() {
    if (stored_)
      expect(!shm::is_given_up(region_, 5), "a step that was stored between two of the last ones is not given up");
    else
      expect(shm::is_given_up(region_, 0), "a step that was given up stays so");
  }

  const bool stored_;
  std::uint64_t count_ = 0;
};

class ReadyScenario : public Bare {
 public:
  ReadyScenario(std::byte* memory, int) : Bare(memory) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { make(); }, [this] { attach(); }};
  }

 private:
  void make() {
    region_.client_count = 3;
    shm::set_state(region_, shm::RegionState::ready);
  }
  void attach() {
    if (shm::state_of(region_) == shm::RegionState::ready) expect(region_.client_count == 3, "a region that is ready is whole");
  }
};

class ReportsScenario : public Bare {
 public:
  ReportsScenario(std::byte* memory, const Mails& how) : Bare(memory), how_(how) {
    region_.last_processed.store(shm::kNoStep, std::memory_order_relaxed);
    for (int mail = 0; mail < how.before; ++mail) shm::try_post(slot_, 0, DC_E_IO, "sentence");
  }

  std::vector<std::function<void()>> threads() override {
    return {[this] { flush(); }, [this] { serve(); }};
  }

 private:
  // As Roster::deliver() and IntakeSide::publish_frontier() do.
  void serve() {
    int held = how_.posted;
    const auto deliver = [&] {
      while (held > 0 && shm::try_post(slot_, 0, DC_E_IO, "sentence")) --held;
      shm::note_waiting_mail(slot_, static_cast<std::uint32_t>(held));
    };
    deliver();
    shm::publish_processed(region_, 0);
    for (; held > 0; deliver()) wait_for_change();
  }
  // As Client::flush() does.
  void flush() {
    int taken = 0;
    const auto collect = [&] {
      const int before = taken;
      while (shm::has_mail(slot_) && shm::try_take_mail(slot_)) ++taken;
      return taken > before;
    };
    while (shm::last_processed(region_) < 0 || !shm::all_posted(slot_))
      if (!collect()) wait_for_change();
    collect();
    expect(taken == how_.taken, "a flush that returns has all reports of its step");
  }

  Mails how_;
};

}  // namespace

Make mail_before(Sign sign) { return maker<SignScenario>(sign); }
Make facts() { return maker<FactsScenario>(0); }
Make omissions(bool later_dies) { return maker<OmissionsScenario>(later_dies); }
Make given_up(bool stored) { return maker<GivenUpScenario>(stored); }
Make ready() { return maker<ReadyScenario>(0); }
Make lane(int events) { return maker<LaneScenario>(events); }
Make waiting(int events) { return maker<WaitingScenario>(events); }
Make doorbell(int events) { return maker<DoorbellScenario>(events); }
Make room(int events) { return maker<RoomScenario>(events); }
Make flush() { return maker<FlushScenario>(0); }
Make mailbox(const Mails& how) { return maker<MailScenario>(how); }
Make reports(const Mails& how) { return maker<ReportsScenario>(how); }

}  // namespace damaris::explorer
