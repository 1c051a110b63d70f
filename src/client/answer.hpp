// The server's answer in a block that a client has requested.
// Used by: client threads that read, or commit a log.
// Before it: the server has answered. After it: the room is free again, or the refusal is thrown.
#pragma once

#include <cstring>

#include "core/base/error.hpp"
#include "core/shm/pool.hpp"

namespace damaris::client {

// Releases the block after its answer has been read.
class AnswerGuard {
 public:
  AnswerGuard(shm::PooledArena& arena, shm::BlockHeader& block) : arena_(arena), block_(block) {}
  ~AnswerGuard() { arena_.cancel(block_); }
  AnswerGuard(const AnswerGuard&) = delete;
  AnswerGuard& operator=(const AnswerGuard&) = delete;

 private:
  shm::PooledArena& arena_;
  shm::BlockHeader& block_;
};

// Throws the server's refusal. `data`, `data_bytes`: as requested by this client; in a pool other clients may have overwritten the header since.
inline void throw_refusal(const std::byte* data, std::uint64_t data_bytes) {
  shm::Answer answer;
  std::memcpy(&answer, data + shm::answer_offset(data_bytes), sizeof answer);
  answer.sentence[sizeof answer.sentence - 1] = '\0';
  if (answer.code < DC_OK) throw Error(static_cast<dc_code>(answer.code), answer.sentence);
}

}  // namespace damaris::client
