// A client's view of its server: whether it lives, how to wake it, and how to wait for it without ever hanging.
// Used by: client threads on slow paths; a ring costs a system call only when the server sleeps.
// Before it: Client. After it: the region's header; in place, the server's own poll.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/process.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/peer_watch.hpp"
#include "core/shm/region.hpp"

namespace damaris::client {

// Does the server's work in this process (no dedicated core), one pass a call.
enum class PumpResult {
  worked,   // there may be more to do at once
  waiting,  // only another process can bring news
  idle,     // nothing to do and nothing to wait for
};
using Pump = std::function<PumpResult()>;

class ServerLink {
 public:
  // `slot`: the client's own.
  ServerLink(std::shared_ptr<shm::Region> region, std::uint32_t slot, Pump pump);

  // Throws Error(DC_E_SERVER_LOST) when the server has died, or takes nothing more because it is on its way out.
  void require_taking() const;
  // Throws the same when it is on its way out, or has ended; a server that died is not looked for.
  void require_not_stopping() const;
  // The same as far as the region shows, without a system call.
  void require_open() const {
    if (state() != shm::RegionState::ready || !is_attached()) throw_lost();
  }
  void ring() { shm::ring_server(region_->header()); }
  // Waits until `done()`, the deadline, or the loss of the server (which throws). Returns whether it is done.
  template <class Done>
  bool wait_until(const Deadline& deadline, Done&& done);
  // In place: does what the server has to do now; with `until` idle also what it can do only when the other processes have come
  // as far, which makes the call collective. With a server of its own, nothing: it works meanwhile.
  // Returns false when that took longer than `timeout_ms`.
  bool pump_until(PumpResult until, std::int64_t timeout_ms);
  // "server 0 on host (process 12, in plugin 'x' ... for 3.0 s); step 4 is not ended by client 1": for messages of time-outs.
  std::string describe(std::int64_t step) const;

 private:
  shm::RegionState state() const { return static_cast<shm::RegionState>(region_->header().state.load(std::memory_order_acquire)); }
  // False when the server has taken this client for dead, or for one that has finalized: nobody reads its lanes any more.
  bool is_attached() const;
  bool serves() const;
  [[noreturn]] void throw_lost() const;
  [[noreturn]] void throw_loss() const;
  std::string busy_text() const;
  std::string undelivered_text() const;
  std::string region_location(const char* when) const;
  std::string remaining_mail() const;
  bool has_unread_messages(std::uint32_t client) const;
  std::string late_clients(std::int64_t step) const;

  std::shared_ptr<shm::Region> region_;
  std::uint32_t slot_;
  Pump pump_;
  shm::PeerWatch process_;
  mutable std::atomic<bool> loss_logged_{false};
};

// In pieces, because a server that dies wakes no client. In place the work is the caller's own: it waits only for what others have to bring.
template <class Done>
bool ServerLink::wait_until(const Deadline& deadline, Done&& done) {
  constexpr std::int64_t kPieceMs = 100;
  while (!done()) {
    if (pump_) {
      const PumpResult result = pump_();
      if (result == PumpResult::idle || (result == PumpResult::waiting && deadline.passed())) return done();
      continue;
    }
    if (deadline.passed()) return false;
    if (!serves() && !done()) throw_lost();
    shm::wait_for_progress(region_->header(), deadline.left_ms(kPieceMs), done);
  }
  return true;
}

}  // namespace damaris::client
