// The clients of one server: which are attached, how far each has come, and the messages that wait for each.
// Used by: the server's dispatch thread only.
// Before it: client slots in the region. After it: the server knows when a step is complete; mailboxes carry the errors.
#pragma once

#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/peer_watch.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

inline constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

struct Lane {
  std::uint32_t index = 0;  // in the region
  shm::LaneSpan span = {};  // the server's copy; what stands in the region later is not asked again
  shm::LaneReader reader;
  std::int64_t frontier = shm::kNoStep;  // this lane has ended all steps up to it
  bool broken = false;                   // its contents made no sense; it is not read any more
  std::uint32_t arena() const noexcept { return static_cast<std::uint32_t>(span.arena); }
};

struct PendingMail {
  std::int64_t step;
  Status status;
};

struct Member {
  enum class Presence { expected, attached, finalized, drained, gone };
  std::uint32_t slot = 0;
  std::int32_t id = -1;
  Presence presence = Presence::expected;
  shm::PeerWatch watch;
  std::vector<Lane> lanes;
  std::int64_t frontier = shm::kNoStep;      // ended by all its lanes; kAllSteps once it is over
  std::int64_t own_frontier = shm::kNoStep;  // what it ended itself: a member that died before is missing from later steps
  std::int64_t last_step = shm::kNoStep;     // highest step it named
  std::deque<PendingMail> outbox;            // not yet in its mailbox
  bool reclaimed = false;                    // gone, and what it had in hand of a pool is given back
  bool has_left() const noexcept {
    return presence == Presence::finalized || presence == Presence::drained || presence == Presence::gone;
  }
};

class Roster {
 public:
  explicit Roster(shm::Region& region);

  // Takes in clients that have attached since the last look. Returns whether one came.
  bool admit();
  // Of a dead server's region: takes in all clients that ever attached, with what they had ended, and waits for no others.
  void adopt();
  // Marks members whose process has ended. Returns those that are newly gone and whose lanes are drained.
  std::vector<Member*> find_dead();
  // Marks those that never came.
  void give_up_waiting();

  std::vector<Member>& members() noexcept { return members_; }
  const std::vector<Member>& members() const noexcept { return members_; }
  // nullptr when no client has that id.
  Member* find(std::int32_t id);
  bool all_present() const noexcept { return present_ == members_.size(); }
  bool all_left() const;
  std::size_t present() const noexcept { return present_; }
  std::size_t size() const noexcept { return members_.size(); }
  // Every step up to it has been ended by every member; kAllSteps when all are over.
  std::int64_t frontier() const;
  // A lane of `member` has ended all steps up to `step`; moves the member's frontier and writes it to its slot.
  void end(Member& member, Lane& lane, std::int64_t step);
  void leave(Member& member, Member::Presence how);

  void notify(Member& member, PendingMail mail);
  void notify_all_clients(const PendingMail& mail);
  // Moves mail into mailboxes as far as there is room. Returns whether any moved.
  bool deliver();
  // The client may go: everything of it is processed.
  void mark_drained(Member& member);

 private:
  static constexpr std::size_t kMostMail = 4096;  // waiting for one client
  bool is_free(std::int32_t id);

  shm::Region& region_;
  std::vector<Member> members_;
  std::size_t present_ = 0;
};

}  // namespace damaris::server
