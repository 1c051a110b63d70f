#include "replay/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "replay/reader.hpp"

namespace damaris::replay {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Each process runs until it waits, and is put into the queue again by whom it waits for; what it then does again has no other effect.
class Evaluator {
 public:
  Evaluator(const Plan& plan, const std::vector<std::uint64_t>* io_ns)
      : plan_(plan),
        io_ns_(io_ns),
        at_(plan.processes.size()),
        posted_(plan.messages.size(), kNever),
        awaited_(plan.messages.size(), kNever),
        waiting_(plan.messages.size(), kNone),
        arrived_(plan.members.size(), kNever),
        meetings_(plan.collectives.size()) {
    times_.ends.resize(plan.processes.size());
    times_.waits.resize(plan.operations.size());
    for (std::uint32_t i = 0; i < at_.size(); ++i) {
      at_[i] = plan.processes[i].begin;
      runnable_.push_back(i);
    }
  }

  Times run() {
    while (!runnable_.empty()) {
      const std::uint32_t process = runnable_.back();
      runnable_.pop_back();
      while (at_[process] < plan_.processes[process].end && step(process)) ++at_[process];
    }
    for (std::uint32_t i = 0; i < at_.size(); ++i)
      if (at_[i] < plan_.processes[i].end) explain(i);
    for (const std::uint64_t end : times_.ends) times_.total = std::max(times_.total, end);
    return std::move(times_);
  }

 private:
  struct Meeting {
    std::uint32_t count = 0;  // who has arrived; of a scan how many of the first
    std::uint64_t latest = 0;
  };

  // Does the operation at which a process is. Returns false if it waits.
  bool step(std::uint32_t process) {
    const std::uint32_t i = at_[process];
    const Operation& one = plan_.operations[i];
    std::uint64_t& clock = times_.ends[process];
    const std::uint64_t begin = is_message(one.kind)      ? message(process, one)
                                : is_collective(one.kind) ? collective(one, clock)
                                                          : clock;
    if (begin == kNever) return false;
    times_.waits[i] = begin - clock;
    clock = begin + (io_ns_ != nullptr && is_io(one.kind) ? (*io_ns_)[i] : one.ns);
    if (one.kind == Kind::post) {
      posted_[one.object] = clock;
      wake(one.object);
    }
    return true;
  }

  // When it goes on, kNever if that is not known yet.
  std::uint64_t message(std::uint32_t process, const Operation& one) {
    const std::uint64_t clock = times_.ends[process];
    const bool is_sync = one.kind == Kind::post && (one.flags & kSync) != 0;
    if (one.kind != Kind::post && awaited_[one.object] == kNever) {
      awaited_[one.object] = clock;
      wake(one.object);
    }
    if (one.kind == Kind::await || (one.kind == Kind::post && !is_sync)) return clock;
    const std::uint64_t other = (is_sync ? awaited_ : posted_)[one.object];
    if (other == kNever) {
      waiting_[one.object] = process;
      return kNever;
    }
    return std::max(clock, other);
  }

  void wake(std::uint32_t message) {
    if (const std::uint32_t process = std::exchange(waiting_[message], kNone); process != kNone) runnable_.push_back(process);
  }

  std::uint64_t collective(const Operation& one, std::uint64_t clock) {
    const Collective& all = plan_.collectives[one.object];
    const auto rank = static_cast<std::uint32_t>(one.offset);
    if (all.kind == Kind::scan) return scan(all, rank, clock);
    Meeting& meeting = meetings_[one.object];
    std::uint64_t* const arrived = &arrived_[all.first];
    if (arrived[rank] == kNever) {
      arrived[rank] = clock;
      meeting.latest = std::max(meeting.latest, clock);
      const bool is_last = ++meeting.count == all.count;
      if (all.kind == Kind::from_one ? rank == all.root : is_last) wake_members(all, rank);
    }
    const bool is_met = meeting.count == all.count;
    if (all.kind == Kind::from_one)
      return arrived[all.root] == kNever ? kNever : rank == all.root ? clock : std::max(clock, arrived[all.root]);
    if (all.kind == Kind::to_one && rank != all.root) return clock;
    return is_met ? meeting.latest : kNever;
  }

  // Those that are waiting there.
  void wake_members(const Collective& all, std::uint32_t but) {
    for (std::uint32_t i = 0; i < all.count; ++i) {
      const Member& member = plan_.members[all.first + i];
      if (i != but && at_[member.process] == member.operation && arrived_[all.first + i] != kNever)
        runnable_.push_back(member.process);
    }
  }

  // Each waits for those before it. The arrival of those of the first that are all there becomes the time at which they go on.
  std::uint64_t scan(const Collective& all, std::uint32_t rank, std::uint64_t clock) {
    Meeting& meeting = meetings_[plan_.operations[plan_.members[all.first].operation].object];
    std::uint64_t* const arrived = &arrived_[all.first];
    if (arrived[rank] == kNever) {
      arrived[rank] = clock;
      for (; meeting.count < all.count && arrived[meeting.count] != kNever; ++meeting.count) {
        meeting.latest = arrived[meeting.count] = std::max(meeting.latest, arrived[meeting.count]);
        if (meeting.count != rank) runnable_.push_back(plan_.members[all.first + meeting.count].process);
      }
    }
    return rank < meeting.count ? arrived[rank] : kNever;
  }

  // The operation that a waiting process needs.
  std::uint32_t needed(std::uint32_t process) const {
    const Operation& one = plan_.operations[at_[process]];
    if (is_message(one.kind)) {
      const Message& message = plan_.messages[one.object];
      return one.kind == Kind::get ? message.post : message.await != kNone ? message.await : message.get;
    }
    const Collective& all = plan_.collectives[one.object];
    std::uint32_t place = all.kind == Kind::from_one ? all.root : 0;
    while (arrived_[all.first + place] != kNever) ++place;
    return plan_.members[all.first + place].operation;
  }

  // Names operations that wait for each other: from any process that waits one comes to such.
  [[noreturn]] void explain(std::uint32_t process) const {
    std::vector<bool> seen(at_.size());
    for (; !seen[process]; process = plan_.process_of(needed(process))) seen[process] = true;
    std::string text;
    const std::uint32_t first = process;
    std::uint32_t named = 0;
    do {
      const std::uint32_t need = needed(process), other = plan_.process_of(need);
      text += format("{}line {}, '{}' of process {}, waits for line {}, '{}' of process {}", named == 0 ? "" : "; ",
                     plan_.operations[at_[process]].line, plan_.text_of(at_[process]), plan_.processes[process].number,
                     plan_.operations[need].line, plan_.text_of(need), plan_.processes[other].number);
      process = other;
    } while (process != first && ++named < 4);
    if (process != first) text += "; and so on";
    fail(plan_, plan_.operations[at_[first]].line,
         "operations wait for each other and can never be met: " + text + "; change the order of one of them");
  }

  const Plan& plan_;
  const std::vector<std::uint64_t>* io_ns_;
  Times times_;                                  // ends: the clocks
  std::vector<std::uint32_t> at_;                // of each process: its next operation
  std::vector<std::uint64_t> posted_, awaited_;  // of each message: when it is there, and when its receiver is
  std::vector<std::uint32_t> waiting_;           // of each message: the process that waits for one of them
  std::vector<std::uint64_t> arrived_;           // of each member
  std::vector<Meeting> meetings_;                // of each collective
  std::vector<std::uint32_t> runnable_;
};

}  // namespace

Times evaluate(const Plan& plan, const std::vector<std::uint64_t>* io_ns) { return Evaluator(plan, io_ns).run(); }

double crowded_share(const Plan& plan, const Times& times, unsigned cores) {
  if (times.total == 0) return 0;
  constexpr std::size_t kParts = 10'000;
  const double width = static_cast<double>(times.total) / kParts;
  std::vector<double> busy(kParts + 1),
      whole(kParts + 1);  // processes, by part of the time; `whole`: what changes from a part to the next
  for_each_time(plan, times, nullptr, [&](std::uint32_t i, std::uint64_t begin, std::uint64_t end) {
    if (plan.operations[i].kind != Kind::compute) return;
    const double from = static_cast<double>(begin) / width, to = static_cast<double>(end) / width;
    const auto first = static_cast<std::size_t>(from), last = static_cast<std::size_t>(to);
    if (first == last) {
      busy[first] += to - from;
      return;
    }
    busy[first] += static_cast<double>(first + 1) - from;
    busy[last] += to - static_cast<double>(last);
    whole[first + 1] += 1;
    whole[last] -= 1;
  });
  double running = 0;
  std::size_t crowded = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    running += whole[i];
    crowded += busy[i] + running > cores + 1e-6 ? 1 : 0;
  }
  return static_cast<double>(crowded) / kParts;
}

}  // namespace damaris::replay
