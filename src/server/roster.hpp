// The clients of one server: their presence, their progress, and the reports pending for each.
// Used by: the server's intake thread only.
// Before it: client slots in the region. After it: the completion of steps; errors in the clients' mailboxes.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

inline constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

struct Lane {
  std::uint32_t index = 0;  // in the region
  shm::LaneSpan span = {};  // the server's copy, so that later changes in the region have no effect
  shm::LaneReader reader;
  std::int64_t frontier = shm::kNoStep;  // the last step that this lane has ended
  bool broken = false;                   // its contents were invalid; it is no longer read
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
  bool watched = false;  // by admit()
  std::vector<Lane> lanes;
  std::int64_t frontier = shm::kNoStep;      // the last step ended by all its lanes; kAllSteps once it has left
  std::int64_t own_frontier = shm::kNoStep;  // the last step that it ended itself: a dead member is missing from later steps
  std::int64_t last_step = shm::kNoStep;     // the highest step in its messages
  std::deque<PendingMail> outbox;            // reports not yet in its mailbox
  std::optional<Deadline> hold;              // how long its leaving waits for them
  bool reclaimed = false;                    // gone, and its blocks in a pool have been released
  bool has_left() const noexcept {
    return presence == Presence::finalized || presence == Presence::drained || presence == Presence::gone;
  }
};

class Roster {
 public:
  explicit Roster(shm::Region& region);

  // Admits clients that have attached since the last call. Returns whether there was one.
  bool admit();
  // For a dead server's region: admits all clients that ever attached, with their ended steps, and waits for no others.
  void adopt();
  // False also for one that never came, and for all of a dead server's region.
  bool lives(const Member& member) const noexcept { return member.watched && region_.client_lives(member.slot); }
  // Marks members whose process has ended, or that have given up, and whose lanes are drained. Returns the newly marked ones.
  std::vector<Member*> mark_dead_clients();
  // Marks members that never attached as gone.
  void stop_waiting();

  std::vector<Member>& members() noexcept { return members_; }
  const std::vector<Member>& members() const noexcept { return members_; }
  // nullptr if no client has that id.
  Member* find(std::int32_t id);
  bool all_present() const noexcept { return present_ == members_.size(); }
  bool all_left() const;
  std::size_t present() const noexcept { return present_; }
  std::size_t size() const noexcept { return members_.size(); }
  // The last step that every member has ended; kAllSteps once all have left.
  std::int64_t frontier() const;
  // Records that a lane of `member` has ended all steps up to `step`; advances the member's frontier and stores it in its slot.
  void end(Member& member, Lane& lane, std::int64_t step);
  void leave(Member& member, Member::Presence how);

  void notify(Member& member, PendingMail mail);
  void notify_all_clients(const PendingMail& mail);
  // Moves reports into mailboxes as far as there is room. Returns whether any moved.
  bool deliver();
  // Lets the client leave, all of whose data are processed, once its mailbox has taken all of its reports; at the latest after `hold_ms`.
  void dismiss(Member& member, std::int64_t hold_ms);

 private:
  static constexpr std::size_t kMostMail = 4096;  // pending for one client
  bool is_free(std::int32_t id);
  bool takes_mail(const Member& member) const;

  shm::Region& region_;
  std::vector<Member> members_;
  std::size_t present_ = 0;
};

}  // namespace damaris::server
