// The server's reports to one client: errors and notices, each delivered once (rule 8 of docs/rules.md).
// Used by: try_post and note_waiting_mail by the server's intake thread; the others by the client, in client/server_link.hpp.
// Before it: a failure in the ledger, the roster or a plugin. After it: dc_last_error.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "core/shm/layout.hpp"

namespace damaris::shm {

// Returns false, with nothing changed, if the mailbox is full; the server keeps the report and retries.
inline bool try_post(ClientSlot& slot, std::int64_t step, int code, const std::string& sentence) noexcept {
  const std::uint32_t head = slot.mail_head.load(std::memory_order_relaxed);
  if (head - slot.mail_tail.load(std::memory_order_acquire) >= kMails) return false;
  Mail& mail = slot.mails[head % kMails];
  mail.step = step;
  mail.code = code;
  const std::size_t length = std::min(sentence.size(), sizeof mail.sentence - 1);
  std::memcpy(mail.sentence, sentence.data(), length);
  mail.sentence[length] = '\0';
  slot.mail_head.store(head + 1, std::memory_order_release);
  return true;
}

// True if the counters imply more reports than the mailbox can hold: a stray write has overwritten it.
inline bool mailbox_damaged(const ClientSlot& slot) noexcept {
  return slot.mail_head.load(std::memory_order_relaxed) - slot.mail_tail.load(std::memory_order_relaxed) > kMails;
}

// Call after the last try_post and before a store that makes the client look.
inline void note_waiting_mail(ClientSlot& slot, std::uint32_t reports) noexcept {
  if (slot.mail_waiting.load(std::memory_order_relaxed) != reports) slot.mail_waiting.store(reports, std::memory_order_release);
}

// False while the server holds reports for which the mailbox had no room. A damaged one never gets them.
inline bool all_posted(const ClientSlot& slot) noexcept {
  return slot.mail_waiting.load(std::memory_order_acquire) == 0 || mailbox_damaged(slot);
}

inline bool has_mail(const ClientSlot& slot) noexcept {
  return slot.mail_head.load(std::memory_order_relaxed) != slot.mail_tail.load(std::memory_order_relaxed);
}

// Takes the oldest report, if there is one. Takes none from a damaged mailbox.
inline std::optional<Mail> try_take_mail(ClientSlot& slot) noexcept {
  const std::uint32_t tail = slot.mail_tail.load(std::memory_order_relaxed);
  const std::uint32_t there = slot.mail_head.load(std::memory_order_acquire) - tail;
  if (there == 0 || there > kMails) return std::nullopt;
  Mail mail = slot.mails[tail % kMails];
  mail.sentence[sizeof mail.sentence - 1] = '\0';
  slot.mail_tail.store(tail + 1, std::memory_order_release);
  return mail;
}

}  // namespace damaris::shm
