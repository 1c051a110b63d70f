// The server's reports to this client that no call has returned yet. Reports arrive in the order in which things fail, not in that of
// steps, and one of a later step must not hide the others: so the mailbox is emptied at every look.
// Used by: any thread of the client, at end of step, flush, finalize and while it waits.
// Before it: the mailbox in the client's slot. After it: the return code of the call.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "core/base/error.hpp"
#include "core/shm/region.hpp"

namespace damaris::client {

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
  std::string take_rest();

 private:
  using Key = std::tuple<bool, std::int64_t, std::uint64_t>;  // is a notice, step, number
  static constexpr std::size_t kMost = 4096;                  // kept; beyond it the least important are only counted

  void keep(const shm::Mail& mail);
  void count_lost(const Key& key) noexcept;
  Status take_lost();

  shm::Region& region_;
  shm::ClientSlot& slot_;
  std::mutex mutex_;
  std::map<Key, Status> kept_;
  std::uint64_t number_ = 0, lost_ = 0;
  Key first_lost_;
};

}  // namespace damaris::client
