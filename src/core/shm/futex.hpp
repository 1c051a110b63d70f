// Sleeps on a word of shared memory, always with a time-out.
// Used by: the server waiting for messages, clients waiting for room, an answer or durability, both waiting for a pool's lock; never on the
// path of an ordinary write into an arena of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace damaris::shm {

// Sleeps while `word` holds `seen`, at most `timeout_ms`. May return early; the caller checks again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ms) noexcept;
// Wakes every sleeper on `word`.
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace damaris::shm
