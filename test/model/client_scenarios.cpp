// Processes and threads of clients: the lock of a pool, claims of slots and lanes, the state of steps.
#include <cstring>
#include <new>

#include "client/lane_claims.hpp"
#include "client/slot.hpp"
#include "client/writer.hpp"
#include "core/base/error.hpp"
#include "core/shm/block.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/pool.hpp"
#include "core/shm/region.hpp"
#include "model/common.hpp"

namespace damaris::explorer {
namespace {

// Two processes take the lock of a pool; for each the other one lives.
class PoolScenario : public Scenario {
 public:
  PoolScenario(std::byte* memory, int) : pool_(*new (memory) shm::PoolHeader{}), memory_(shm::SharedMemory::view(memory, 0)) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { use(shm::kClientParts); }, [this] { use(shm::kClientParts + 1); }};
  }
  std::string field(std::size_t) const override { return "pool"; }
  void check_end() override { expect(pool_.state.reserved_bytes == 2 && pool_.owner.load() == 0, "each has had it once"); }

 private:
  void use(std::uint64_t part) {
    constexpr std::int64_t kWaitMs = 1'000'000;
    const shm::PoolLock lock(pool_, memory_, part, kWaitMs);
    expect(static_cast<bool>(lock), "a waiting client gets it");
    pool_.state.reserved_bytes += 1;
  }

  shm::PoolHeader& pool_;
  shm::SharedMemory memory_;  // in which no process counts as dead
};

// The image of a region of two clients, made once.
const std::vector<std::byte>& image_for_two() {
  static const std::vector<std::byte> image = [] {
    shm::RegionSpec spec;
    spec.clients = 2;
    spec.lane_messages = kRing;
    spec.buffer_bytes = 2 * shm::kPage;
    const shm::Region region = shm::Region::create(spec);
    return std::vector<std::byte>(region.at(0), region.at(0) + region.header().total_bytes);
  }();
  return image;
}

class SlotScenario : public Scenario {
 public:
  explicit SlotScenario(std::byte* memory) : region_(make(memory)) {}
  std::string field(std::size_t) const override { return "slot"; }

 protected:
  static shm::Region make(std::byte* memory) {
    std::memmove(memory, image_for_two().data(), image_for_two().size());
    return shm::Region::attach(shm::SharedMemory::view(memory, image_for_two().size()));
  }

  shm::Region region_;
};

// Two processes with one id never have a slot each; of two that want one slot, one has it at a time.
class ClaimsScenario : public SlotScenario {
 public:
  ClaimsScenario(std::byte* memory, const Claims& how) : SlotScenario(memory), how_(how) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { claim(0); }, [this] { claim(1); }};
  }
  void check_end() override {
    if (how_.same_id) expect(claimed_ < 2, "an id is claimed once");
  }

 private:
  void claim(std::uint32_t index) {
    const std::uint32_t slot = how_.slots == 1 ? 0 : index;
    try {
      if (!client::try_claim(region_, slot, how_.same_id ? 7 : static_cast<int>(index))) return;
    } catch (const Error&) {
      return;
    }
    ++claimed_;
    if (how_.slots == 1) client::free_slot(region_, slot);
  }

  Claims how_;
  int claimed_ = 0;
};

// The server reads the slot of a client that has attached.
class AttachingScenario : public SlotScenario {
 public:
  AttachingScenario(std::byte* memory, int) : SlotScenario(memory) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { attach(); }, [this] { admit(); }};
  }

 private:
  void attach() {
    if (!client::try_claim(region_, 0, 7)) return;
    *region_.at(region_.span(0).arena_offset) = std::byte{1};  // its arena is made
    client::try_attach(region_.slot(0));
  }
  void admit() {
    const shm::ClientSlot& slot = region_.slot(0);
    if (shm::state_of(slot) != shm::SlotState::attached) return;
    expect(slot.id.load(std::memory_order_relaxed) == 7 && slot.pid != 0, "a client that has attached has its id");
    expect(*region_.at(region_.span(0).arena_offset) == std::byte{1}, "and its arena");
  }
};

// A thread that gets the lane which another one has given back goes on where that one stopped.
class LaneOfThreadsScenario : public Scenario {
 public:
  LaneOfThreadsScenario(std::byte* memory, int)
      : flag_(*new (memory) std::atomic<bool>(false)), lane_(new (memory + 4096) shm::LaneHeader{}) {
    writer_ = new (memory + 1024) shm::LaneWriter(lane_, kRing);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] { push(); }, [this] { push(); }};
  }
  std::string field(std::size_t) const override { return "lane"; }
  void check_end() override { expect(lane_->head.load() == 2, "both have pushed"); }

 private:
  void push() {
    while (!client::try_take_lane(flag_)) wait_for_change();
    writer_->try_push(event_of(0));
    client::give_back_lane(flag_);
  }

  std::atomic<bool>& flag_;
  shm::LaneHeader* lane_;
  shm::LaneWriter* writer_ = nullptr;
};

// The thread that opens a step sets the parameters of the step first; the others only look.
class StepScenario : public Scenario {
 public:
  StepScenario(std::byte* memory, int) : state_(*new (memory) client::StepState), parameter_(*new (memory + 256) int(0)) {}
  std::vector<std::function<void()>> threads() override {
    return {[this] { go(); }, [this] { look(); }};
  }
  std::string field(std::size_t) const override { return "step"; }

 private:
  void go() {
    parameter_ = 5;
    state_.begin(0);
    state_.begin_writing();
  }
  void look() {
    if (state_.is_open(0)) expect(parameter_ == 5, "an open step has its parameters");
    if (const auto step = state_.unfinished()) expect(*step == 0, "the step that has a write is the open one");
    if (state_.is_writing()) expect(parameter_ == 5, "and so has one with a write");
  }

  client::StepState& state_;
  int& parameter_;
};

}  // namespace

Make pool() { return maker<PoolScenario>(0); }
Make claims(const Claims& how) { return maker<ClaimsScenario>(how); }
Make attaching() { return maker<AttachingScenario>(0); }
Make lane_of_threads() { return maker<LaneOfThreadsScenario>(0); }
Make step_state() { return maker<StepScenario>(0); }

}  // namespace damaris::explorer
