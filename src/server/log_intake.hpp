// The logs on the side of the server that faces its clients: appends and commits wait here until the work side takes them, a few MiB at
// once, and appends that the file system refuses until it takes them.
// Used by: the intake side, on its thread.
// Before it: the messages append and log_commit. After it: StoreLogs for the work side; then free blocks, and answers for clients.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/clock.hpp"
#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "server/handover.hpp"
#include "server/ledger.hpp"
#include "server/roster.hpp"

namespace damaris::server {

class LogIntake {
 public:
  LogIntake(shm::Region& region, const model::Model& model, const VariableInfos& infos, Ledger& ledger);

  // What comes from now on was left by a dead server.
  void adopt() { adopts_ = true; }
  // Each returns "" or why the message is invalid.
  std::string receive_append(const Member& member, const Lane& lane, const shm::Message& message);
  std::string receive_commit(const Member& member, const Lane& lane, const shm::Message& message);
  // The client sends nothing more; has_uncommitted() until what it appended is durable.
  void receive_finalize(const Member& member);
  bool has_uncommitted(const Member& member) const { return uncommitted_[member.slot] > 0; }

  // What the work side is to store next, if it has nothing in hand.
  std::optional<StoreLogs> next();
  void handle(LogsStored& answer);

  bool empty() const noexcept { return queue_.empty() && !out_; }
  // The file system refuses what there is; it is tried again now and then. "" if it does not.
  const std::string& block_reason() const noexcept { return block_reason_; }
  // No time is left for that: what is not stored stays in the region, for recovery. Returns its number of appends.
  std::size_t leave();
  bool leaves() const noexcept { return leaves_; }

 private:
  using Waiting = std::variant<LogAppend, LogCommit>;
  bool is_implausible(const LogAppend& append) const;
  void requeue(StoreLogs job);
  void answer(const LogCommit& commit, const Status& status);

  shm::Region& region_;
  const model::Model& model_;
  const VariableInfos& infos_;
  Ledger& ledger_;
  std::deque<Waiting> queue_;
  bool out_ = false;                        // the work side has a part of it
  std::vector<std::uint64_t> highest_;      // by file of all logs: the end of what has arrived
  std::vector<std::uint32_t> uncommitted_;  // by slot: commits until the client may leave
  std::vector<bool> appended_;              // by slot: whether it has appended anything
  std::string block_reason_;
  Instant next_try_ = {};
  bool leaves_ = false, adopts_ = false;
};

}  // namespace damaris::server
