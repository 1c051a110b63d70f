// A client's connection to its server: liveness checks, wake-ups, bounded waits, and the server's reports.
// Used by: client threads on slow paths; a ring costs a system call only if the server sleeps.
// Before it: Client. After it: the region's header, the mailbox in the client's slot; in place, the server's own poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/region.hpp"

namespace damaris::client {

// The server's reports to this client that no call has returned yet. They arrive in the order in which things fail, not in that of
// steps, and one of a later step must not hide the others: so the mailbox is emptied at every look. Threads: any.
class Reports {
 public:
  Reports(shm::Region& region, std::uint32_t slot) : region_(region), slot_(region.slot(slot)) {}

  // Empties the mailbox, for which the server may have more. Returns whether there was something in it.
  bool collect();
  // False while the server holds reports for which the mailbox had no room.
  bool are_complete() const noexcept;
  // Takes the most important report of the steps up to `up_to_step`: errors before notices, the lowest step first. The status has the
  // server's own code.
  std::optional<Status> take(std::int64_t up_to_step);
  // Takes all of them, as the end of a sentence: "; it had to say: <first>; also: <second>", or "".
  std::string drain_text();

 private:
  using Key = std::tuple<bool, std::int64_t, std::uint64_t>;  // is a notice, step, number

  shm::Region& region_;
  shm::ClientSlot& slot_;
  std::mutex mutex_;
  std::map<Key, Status> kept_;
  std::uint64_t number_ = 0;
};

// The result of a pump, which does the server's work in this process (no dedicated core), one round a call.
enum class PumpResult {
  worked,   // there may be more to do now
  waiting,  // only another process can make progress
  blocked,  // the storage retries what the file system refuses
  idle,     // nothing to do and nothing to wait for
};
using Pump = std::function<PumpResult()>;

class ServerLink {
 public:
  // `slot`: the client's own.
  ServerLink(std::shared_ptr<shm::Region> region, std::uint32_t slot, Pump pump);

  // Throws Error(DC_E_SERVER_LOST) if the server has died, or is leaving and accepts nothing more.
  void require_accepting() const;
  // Throws the same if the server is leaving or has ended; does not check whether it has died.
  void require_not_stopping() const;
  // Like require_accepting(), as far as the region shows, without a system call.
  void require_open() const {
    if (state() != shm::RegionState::ready || !is_attached()) throw_lost();
  }
  Reports& reports() const noexcept { return reports_; }
  void ring() { shm::ring_server(region_->header()); }
  // Waits until done() returns true, the deadline passes, or the server is lost (throws). Returns whether it is done.
  template <class Done>
  bool wait_until(const Deadline& deadline, Done&& done);
  // In place: does the server's pending work; with `until` idle also work that requires the other processes to reach the same point, which
  // makes the call collective. Does not wait for a retry of the storage. With a separate server: does nothing.
  // Returns false if that took longer than `timeout_ms`.
  bool pump_until(PumpResult until, std::int64_t timeout_ms);
  // For messages of time-outs: "server 0 on host (process 12, in plugin 'x' ... for 3.0 s); step 4 is not ended by client 1, which
  // has ended none since step 2".
  std::string describe(std::int64_t step) const;
  // Whether another client has not ended `step`.
  bool waits_for_clients(std::int64_t step) const;

 private:
  shm::RegionState state() const { return shm::state_of(region_->header()); }
  // False if the server has marked this client as dead or drained, and no longer reads its lanes.
  bool is_attached() const;
  bool serves() const;
  [[noreturn]] void throw_lost() const;
  [[noreturn]] void throw_server_lost() const;
  PumpResult pump();
  std::string busy_text() const;
  std::string unread_messages_text() const;
  std::string region_location(const char* when) const;
  bool has_unread_messages(std::uint32_t client) const;
  struct Late {
    std::int64_t ended;  // their last step
    std::vector<std::string> names;
  };
  Late late_clients(std::int64_t step) const;
  std::string late_text(std::int64_t step) const;

  std::shared_ptr<shm::Region> region_;
  std::uint32_t slot_;
  Pump pump_;
  mutable Reports reports_;
  mutable std::atomic<bool> loss_logged_{false};
};

// Waits in intervals, because a dying server wakes no client. In place the caller does the work itself, and waits only for other processes.
template <class Done>
bool ServerLink::wait_until(const Deadline& deadline, Done&& done) {
  constexpr std::int64_t kPieceMs = 100;
  while (!done()) {
    if (pump_) {
      const PumpResult result = pump();
      if (result == PumpResult::idle || (result != PumpResult::worked && deadline.expired())) return done();
      continue;
    }
    if (deadline.expired()) return false;
    if (!serves() && !done()) throw_lost();
    shm::wait_for_progress(region_->header(), deadline.left_ms(kPieceMs), [&] { return done() || reports_.collect(); });
  }
  return true;
}

}  // namespace damaris::client
