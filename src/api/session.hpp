// The session of this process: the state behind the C functions, created by one of the three ways to start.
// Used by: the C functions; set by dc_initialize or, from libdamaris_mpi, by dc_mpi_initialize.
// Before it: the start (detached, split, in place). After it: the client, and in place also the server.
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "client/client.hpp"
#include "core/base/process.hpp"
#include "core/base/process_guard.hpp"
#include "server/library/serving.hpp"

namespace damaris::api {

class Session {
 public:
  // A client of a server in another process, in a slot claimed by client::try_claim.
  Session(const std::shared_ptr<shm::Region>& shared, std::shared_ptr<const model::Frame> frame, std::uint32_t slot, int id);
  // Client and server in this process: no dedicated core.
  Session(std::unique_ptr<server::Serving> server, const std::shared_ptr<const model::Frame>& frame, int id);
  // Finalizes if that has not happened yet.
  ~Session();

  client::Client& client() noexcept { return *client_; }
  // Describes what is lost as the process ends now, or "". Only in place: a separate server continues and reports it.
  std::string loss_at_exit();
  // False in a fork of the process that attached.
  bool is_own() const noexcept { return creator_.is_this_process(); }
  // The pid of that process, for messages.
  std::int32_t process() const noexcept { return process_; }
  Status finalize();

 private:
  client::PumpResult pump();
  void print_end() const;
  const CreatorProcess creator_;
  const std::int32_t process_ = ::getpid();
  std::mutex pump_mutex_;
  Clock::time_point last_work_ = {};         // when the server last had work; guarded by pump_mutex_
  std::unique_ptr<server::Serving> server_;  // in place only; outlives the client
  std::unique_ptr<client::Client> client_;
  std::int64_t finalize_timeout_ms_ = 0;  // in place
  // For the line at the end of the run.
  const std::shared_ptr<const shm::Region> region_;
  const std::shared_ptr<const model::Frame> frame_;
  const int id_;
};

// The one session of the process, or nullptr.
Session* session() noexcept;
// Throws Error(DC_E_NOT_INITIALIZED) for a call from a plugin's callback: in place the server is in the middle of its work.
[[noreturn]] void throw_in_callback();
inline void require_outside_callback() {
  if (InCallback::is_here()) throw_in_callback();
}
// Call before a start does anything. Throws as require_outside_callback(), Error(DC_E_ALREADY_INITIALIZED) if there is a session, DC_E_FORKED
// if it belongs to another process, DC_E_MEMORY after end_session_without_memory().
void require_no_session();
[[noreturn]] void throw_forked(const Session& session);
// Throws Error(DC_E_NOT_INITIALIZED), or DC_E_MEMORY if end_session_without_memory() has ended the session.
[[noreturn]] void throw_no_session();
// For a call that has run out of memory, on any thread: the server takes this client for a dead one, and every further call is refused.
// The objects stay, because other threads may be in a call. Returns DC_E_MEMORY.
int end_session_without_memory() noexcept;
void set_session(std::unique_ptr<Session> session) noexcept;

// Stores the message for dc_last_error of this thread and returns `code`.
int set_last_error(int code, std::string_view sentence) noexcept;
const char* last_error() noexcept;

}  // namespace damaris::api
