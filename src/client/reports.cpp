#include "client/reports.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/base/format.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/server_log.hpp"

namespace damaris::client {

bool Reports::collect() {
  if (!shm::has_mail(slot_)) return false;
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto mail = shm::try_take_mail(slot_); mail; mail = shm::try_take_mail(slot_)) {
      any = true;
      keep(*mail);
    }
  }
  if (any && !are_complete()) shm::ring_server(region_.header());
  return any;
}

bool Reports::are_complete() const noexcept { return shm::all_posted(slot_); }

void Reports::keep(const shm::Mail& mail) {
  kept_.emplace(Key{mail.code > DC_OK, mail.step, number_++}, Status{mail.code, mail.sentence});
  if (kept_.size() <= kMost) return;
  const auto last = std::prev(kept_.end());
  count_lost(last->first);
  kept_.erase(last);
}

void Reports::count_lost(const Key& key) noexcept {
  first_lost_ = lost_ == 0 ? key : std::min(first_lost_, key);
  ++lost_;
}

Status Reports::take_lost() {
  Status report{std::get<0>(first_lost_) ? DC_N_PLUGIN : DC_E_IO,
                format("{} more reports, of steps from {} on, are {}", lost_, std::get<1>(first_lost_),
                       shm::only_in_log(shm::log_of(region_)))};
  lost_ = 0;
  return report;
}

std::optional<Status> Reports::take(std::int64_t up_to_step) {
  collect();
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Key& key) { return std::get<1>(key) <= up_to_step; };
  auto best = kept_.begin();
  if (best != kept_.end() && !fits(best->first)) best = kept_.lower_bound({true, std::numeric_limits<std::int64_t>::min(), 0});
  const bool found = best != kept_.end() && fits(best->first);
  if (lost_ > 0 && fits(first_lost_) && (!found || first_lost_ < best->first)) return take_lost();
  if (!found) return std::nullopt;
  Status report = std::move(best->second);
  kept_.erase(best);
  return report;
}

std::string Reports::take_rest() {
  std::string text;
  while (const auto report = take(std::numeric_limits<std::int64_t>::max()))
    text += format("{}{}", text.empty() ? "; it had to say: " : "; also: ", report->message);
  return text;
}

}  // namespace damaris::client
