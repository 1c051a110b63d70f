// Logs in the C++ interface: bytes that clients append, beside the steps. damaris.hpp includes it.
// Used by: simulation processes (clients), by one thread at a time unless the XML gives `threads`.
// Before it: Session::log. After it: the region in shared memory, then the server on the dedicated core.
#pragma once

#include <damaris/damaris.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace damaris {

class Log;
class Session;

namespace detail {

// Returns DC_OK and notices; throws Error with dc_last_error() for a negative code.
inline dc_code checked(int code) {
  if (code < 0) throw Error(static_cast<dc_code>(code), dc_last_error());
  return static_cast<dc_code>(code);
}

}  // namespace detail

// Memory in the region for an append, from Log::alloc: the simulation fills it, and publish appends it without a copy. Moves, does not copy.
//   Owns     the memory until publish; the destructor publishes nothing: what is not published is freed by the end of the session.
//   Threads  the thread that called alloc.
class AppendBlock {
 public:
  AppendBlock(AppendBlock&& other) noexcept { *this = std::move(other); }
  AppendBlock& operator=(AppendBlock&& other) noexcept {
    log_ = other.log_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  // Returns size() uninitialised bytes, aligned to 64; null after publish.
  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  // Appends the first `bytes` bytes and returns their place. Throws DC_E_ARGUMENT for more than size(), DC_E_NOT_ALLOCATED for a second
  // publish, DC_E_FULL: the block can be published again then, but for the second publish. After all else data() is null: DC_E_SERVER_LOST,
  // and as Log where the log has buffered="false".
  dc_position_t publish(std::size_t bytes) {
    dc_position_t where = {};
    const int code = dc_append_publish(log_, data_, bytes, &where);
    if (code != DC_E_ARGUMENT && code != DC_E_NOT_ALLOCATED && code != DC_E_FULL) {
      data_ = nullptr;
      size_ = 0;
    }
    detail::checked(code);
    return where;
  }

 private:
  friend class Log;
  // Throws as Log::alloc.
  AppendBlock(dc_log_t* log, std::size_t bytes) : log_(log), size_(bytes) { detail::checked(dc_append_alloc(log, bytes, &data_)); }
  dc_log_t* log_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// A log that clients append to, from Session::log. Cheap to copy.
//   Owns     nothing: valid until its session ends, and not to be used in a later one.
//   Threads  as Session; each has a stream of its own.
//   Throws   DC_E_TOO_LARGE for more than this client has of the buffer, DC_E_FULL after the wait: nothing is appended then.
//            DC_E_SERVER_LOST: the same, but with buffered="false" the bytes may be appended. With that also DC_E_TIMEOUT and DC_E_IO: the
//            bytes are appended, but not in the file yet.
class Log {
 public:
  // Appends `bytes` bytes; `data` may be reused at once. Returns their place in the log, which is known at once and stays true.
  //   Waits   at most the XML's buffer timeout for a full lane, and again for room in the buffer; see dc_append.
  dc_position_t append(const void* data, std::size_t bytes) const {
    dc_position_t where = {};
    detail::checked(dc_append_to(handle_, data, bytes, &where));
    return where;
  }
  // Appends several pieces as one append, without a gap. Returns the place of the first.
  dc_position_t append(const std::vector<dc_piece_t>& pieces) const {
    dc_position_t where = {};
    detail::checked(dc_append_list(handle_, pieces.data(), static_cast<int>(pieces.size()), &where));
    return where;
  }
  // Reserves room for an append of up to `bytes` bytes, more than 0.
  AppendBlock alloc(std::size_t bytes) const { return {handle_, bytes}; }
  // Waits until everything that this thread has appended is durable.
  //   Units   `timeout` in milliseconds, 0 or more.
  //   Throws  DC_E_TIMEOUT; DC_E_IO when the file system refuses it: the server tries again; DC_E_FULL, DC_E_SERVER_LOST.
  void commit(std::chrono::milliseconds timeout) const {
    constexpr std::chrono::milliseconds::rep kMost = std::numeric_limits<int>::max(), kRefused = -1;
    detail::checked(dc_log_commit(name_.c_str(), static_cast<int>(std::clamp(timeout.count(), kRefused, kMost))));
  }

 private:
  friend class Session;
  // Throws as Session::log.
  explicit Log(const std::string& name) : name_(name) { detail::checked(dc_log(name.c_str(), &handle_)); }
  std::string name_;
  dc_log_t* handle_ = nullptr;
};

}  // namespace damaris
