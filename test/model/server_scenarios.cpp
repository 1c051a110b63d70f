// The two threads of a server, with the handover that they share.
#include <deque>
#include <new>
#include <vector>

#include "core/shm/arena.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/lane.hpp"
#include "model/common.hpp"
#include "server/handover.hpp"

namespace damaris::explorer {
namespace {

using server::Handover;

// What the threads share, in the watched memory: also what the containers hold.
class ServerScenario : public Scenario {
 public:
  explicit ServerScenario(std::byte* memory)
      : base_(memory), region_(*new (memory) shm::RegionHeader{}), lane_(new (memory + kLaneOffset) shm::LaneHeader{}) {
    const OnWatchedHeap heap;
    handover_ = new (memory + kHandoverOffset) Handover;
  }
  ~ServerScenario() override { handover_->~Handover(); }
  ServerScenario(const ServerScenario&) = delete;
  ServerScenario& operator=(const ServerScenario&) = delete;

  std::string field(std::size_t offset) const override {
    if (offset == distance(&region_.doorbell)) return "doorbell";
    if (offset == distance(&region_.server_sleeping)) return "server_sleeping";
    if (offset == distance(&lane_->head)) return "head";
    if (offset == distance(&lane_->tail)) return "tail";
    const bool is_handover = offset >= kHandoverOffset && offset < kHandoverOffset + sizeof(Handover);
    return is_handover ? "handover" : "bytes";
  }

 protected:
  static constexpr std::size_t kLaneOffset = 16 * 1024, kHandoverOffset = 20 * 1024, kFreeOffset = 28 * 1024;
  static_assert(sizeof(shm::RegionHeader) <= kLaneOffset && sizeof(Handover) <= kFreeOffset - kHandoverOffset);

  std::size_t distance(const void* place) const { return static_cast<std::size_t>(static_cast<const std::byte*>(place) - base_); }

  std::byte* base_;
  shm::RegionHeader& region_;
  shm::LaneHeader* lane_;
  Handover* handover_ = nullptr;
};

// What crosses a ring: its contents lie elsewhere, and whoever has it may write them.
struct Note {
  int number = -1;
  std::vector<int> body;
};

// One side has notes to give, and gets each back as an answer. A side keeps what does not fit, and goes on with what it can.
class RingScenario : public Scenario {
 public:
  RingScenario(std::byte* memory, const Rings& how) : how_(how) {
    const OnWatchedHeap heap;
    jobs_ = new (memory) server::Ring<Note>(static_cast<std::size_t>(how.capacity));
    answers_ = new (memory + 1024) server::Ring<Note>(static_cast<std::size_t>(how.capacity));
    for (int number = 0; number < how.notes; ++number) {
      mine_.emplace_back();
      mine_.back().number = number;
      mine_.back().body.resize(1);
    }
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { give(); }, [this] { answer(); }};
  }
  std::string field(std::size_t) const override { return "ring"; }

 private:
  void give() {
    for (int answered = 0; answered < (how_.with_answers ? how_.notes : 0) || !mine_.empty();) {
      bool worked = false;
      for (; !mine_.empty(); worked = true) {
        mine_.front().body[0] = mine_.front().number;
        if (!jobs_->try_push(mine_.front())) break;
        mine_.pop_front();
      }
      while (std::optional<Note> note = answers_->try_pop()) {
        expect(note->number == answered++ && note->body[0] == -note->number, "answers come in order, whole, none lost or doubled");
        note->body[0] = 0;
        worked = true;
      }
      if (!worked) wait_for_change();
    }
  }
  void answer() {
    std::deque<Note> unsent;
    for (int taken = 0; taken < how_.notes || !unsent.empty();) {
      bool worked = false;
      while (!unsent.empty() && answers_->try_push(unsent.front())) {
        unsent.pop_front();
        worked = true;
      }
      std::optional<Note> note = jobs_->try_pop();
      if (note) {
        expect(note->number == taken++ && note->body[0] == note->number, "jobs come in order, whole, none lost or doubled");
        note->body[0] = -note->number;
        if (how_.with_answers) unsent.push_back(std::move(*note));
        worked = true;
      }
      if (!worked) wait_for_change();
    }
    expect(jobs_->empty(), "nothing is left in the ring");
  }

  Rings how_;
  server::Ring<Note>*jobs_, *answers_;
  std::deque<Note> mine_;
};

// A client and the work side ring the one bell of the intake side, which sleeps whenever it has nothing. It asks only for what it has not
// got yet, and the work side's news is that it has failed, which takes the fewest accesses: so that there are fewer orders.
class IntakeBellScenario : public ServerScenario {
 public:
  IntakeBellScenario(std::byte* memory, int) : ServerScenario(memory), writer_(lane_, kRing), reader_(lane_, kRing) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { serve(); },
            [this] {
              writer_.try_push(event_of(0));
              shm::ring_server(region_);
            },
            [this] {
              handover_->fail_work({DC_E_MEMORY, {}});
              shm::ring_server(region_);
            }};
  }

 private:
  void serve() {
    bool message = false, failure = false;  // seen by now
    const auto look = [&] {
      return (!message && (message = !reader_.empty())) || (!failure && (failure = handover_->work_error() != nullptr));
    };
    while (!message || !failure) shm::sleep_as_server(region_, 10, look);
  }

  shm::LaneWriter writer_;
  shm::LaneReader reader_;
};

// The work side sleeps until there is a job, or the intake side has ended.
class WorkBellScenario : public ServerScenario {
 public:
  WorkBellScenario(std::byte* memory, int jobs) : ServerScenario(memory), jobs_(jobs) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { send_jobs(); }, [this] { work(); }};
  }

 private:
  void send_jobs() {
    for (int number = 0; number < jobs_; ++number) {
      server::Job job = server::CompleteStep{number};
      expect(handover_->jobs.try_push(job), "there is room");
      handover_->wake_work();
    }
    handover_->end_intake();
  }
  void work() {
    int taken = 0;
    while (!handover_->intake_has_ended()) {
      if (const auto job = handover_->jobs.try_pop())
        expect(std::get<server::CompleteStep>(*job).step == taken++, "jobs come in order and whole");
      else
        handover_->sleep_as_work(1000);
    }
  }

  const int jobs_;
};

// The work side fails; the intake side sleeps, and ends then with the reason.
class FailureScenario : public ServerScenario {
 public:
  FailureScenario(std::byte* memory, int) : ServerScenario(memory) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { serve(); }, [this] { fail(); }};
  }

 private:
  void fail() {
    handover_->fail_work({DC_E_MEMORY, {}});
    shm::ring_server(region_);
  }
  void serve() {
    const Status* error = nullptr;
    while ((error = handover_->work_error()) == nullptr) shm::sleep_as_server(region_, 10, [&] { return handover_->has_news(); });
    expect(error->code == DC_E_MEMORY, "the reason is whole");
    handover_->end_intake();
  }
};

// A look that is counted has all that it brought in the ring.
class LooksScenario : public ServerScenario {
 public:
  LooksScenario(std::byte* memory, int) : ServerScenario(memory) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { expire(); }, [this] { look(); }};
  }

 private:
  void look() {
    server::Answer answer = server::StepsEnded{1};
    handover_->answers.try_push(answer);
    handover_->note_look();
  }
  void expire() {
    const std::uint64_t looks = handover_->looks();
    const bool came = handover_->answers.try_pop().has_value();
    expect(looks == 0 || came, "what a look has brought is there");
  }
};

}  // namespace

Make rings(const Rings& how) { return maker<RingScenario>(how); }
Make intake_bell() { return maker<IntakeBellScenario>(0); }
Make work_bell(int jobs) { return maker<WorkBellScenario>(jobs); }
Make work_failure() { return maker<FailureScenario>(0); }
Make looks() { return maker<LooksScenario>(0); }

}  // namespace damaris::explorer
