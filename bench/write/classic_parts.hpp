// What one would put together without Damaris: a boost managed_shared_memory to allocate from, a message_queue to notify the server.
// Used by: the write benchmark; the client's side and the server's each in a process of its own, forked after this was made.
// Before it: a source to copy from. After it: a server that receives messages, looks nothing up and deallocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace damaris::bench {

// Blocks and bytes since the start: what a client sent, or a server freed.
struct Handed {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Handed& other) const { return blocks == other.blocks && bytes == other.bytes; }
  bool operator!=(const Handed& other) const { return !(*this == other); }
};

class ClassicParts {
 public:
  // Makes the parts, touches the segment as a region is touched, and takes their names away: children inherit the mappings.
  // Every wait in a queue ends after `timeout_ms`. Throws Error(DC_E_SHM).
  ClassicParts(const std::string& name, std::uint64_t segment_bytes, std::int64_t timeout_ms);
  ~ClassicParts();
  ClassicParts(const ClassicParts&) = delete;
  ClassicParts& operator=(const ClassicParts&) = delete;

  // The client: allocates, copies, sends {variable, source, step, handle, bytes}.
  // Returns: DC_OK; DC_E_FULL without room in the segment, DC_E_TIMEOUT when the queue stayed full: nothing is held then.
  int write(std::int32_t variable, std::int64_t step, const std::byte* source, std::uint64_t bytes);
  Handed sent() const noexcept { return sent_; }
  // The client: waits until the server has received all that was sent, and returns what it has freed. Throws Error(DC_E_TIMEOUT).
  Handed end_step(std::int64_t step);
  // The client: the server leaves serve() after what was sent before. Does nothing when the queue stays full.
  void stop() noexcept;
  std::uint64_t free_bytes() const;

  // The server: frees each block it receives, until it is asked to stop. Throws Error(DC_E_TIMEOUT).
  void serve();

 private:
  struct Shared;
  void renew_deadline();

  std::unique_ptr<Shared> shared_;
  std::int64_t timeout_ms_;
  Handed sent_;
};

}  // namespace damaris::bench
