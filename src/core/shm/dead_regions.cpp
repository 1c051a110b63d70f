#include "core/shm/dead_regions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/region.hpp"

namespace damaris::shm {
namespace {

// The process has run out of open files or memory.
bool is_limit(int error) noexcept { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// Matches any job, because a resubmitted simulation runs as another job.
std::vector<std::string> names_of_any_job(const RunKey& key) {
  const std::size_t user = user_prefix().size();
  const std::string behind_job = region_prefix(key).substr(job_prefix().size() - 1);  // with the dot that ends the job
  return region_names_where([&](const std::string& name) {
    const std::size_t end = name.find('.', user);
    return end != std::string::npos && name.compare(end, behind_job.size(), behind_job) == 0;
  });
}

bool exists(const std::string& name) { return ::access(("/dev/shm" + name).c_str(), F_OK) == 0; }

FoundRegion inspect(const std::string& name) {
  FoundRegion found;
  const Region region = Region::attach(name);
  const RegionHeader& header = region.header();
  found.name = name;
  found.server_pid = header.server_pid;
  const auto state = state_of(header);
  found.alive = region.is_served();
  found.ready = found.alive && state == RegionState::ready;
  found.leaving = found.alive && (state == RegionState::leaving || state == RegionState::closed);
  found.detached = header.detached != 0;
  found.servers = header.server_count;
  found.simulation = std::string(header.simulation, ::strnlen(header.simulation, sizeof header.simulation));
  found.config_digest = header.config_digest;
  found.config_place = header.config_place;
  found.spill_file = region.spill_file();
  if (found.alive) return found;
  found.unreleased_blocks = region.unreleased_blocks();
  found.lost = lost_steps(header);
  found.living_clients = region.living_clients();
  return found;
}

// Whether a region that cannot be read may hold data of a dead server.
enum class Obstacle {
  in_use,      // a process uses it, or it is not a file of this user, or it is gone
  unfinished,  // its server died while creating it: it cannot contain data
  unreadable,  // damaged, of another version, or beyond a limit of this process: it may be intact
};

Obstacle obstacle_in(int descriptor) noexcept {
  struct stat info = {};
  struct flock held = {};
  held.l_type = F_WRLCK;  // of any part
  if (::fstat(descriptor, &info) != 0 || (info.st_mode & 077) != 0) return Obstacle::in_use;
  if (::fcntl(descriptor, F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK) return Obstacle::in_use;
  std::uint64_t magic = 0;
  return ::pread(descriptor, &magic, sizeof magic, 0) >= 0 && magic == 0 ? Obstacle::unfinished : Obstacle::unreadable;
}

Obstacle obstacle_of(const std::string& name) {
  const int descriptor = open_own("/dev/shm" + name, O_RDWR);
  if (descriptor < 0) return is_limit(errno) ? Obstacle::unreadable : Obstacle::in_use;
  const Obstacle obstacle = obstacle_in(descriptor);
  ::close(descriptor);
  return obstacle;
}

// Returns false if a server has taken the region in the meantime, as one that is just making it: either it gets no lock, or it
// has one.
bool remove_unused(const std::string& name) {
  const int descriptor = open_own("/dev/shm" + name, O_RDWR);
  if (descriptor < 0) return false;
  struct flock part = {};
  part.l_type = F_WRLCK;
  part.l_start = kServerPart;
  part.l_len = 1;
  const bool is_ours = ::fcntl(descriptor, F_OFD_SETLK, &part) == 0;
  if (is_ours) SharedMemory::remove(name);
  ::close(descriptor);
  return is_ours;
}

std::string unreadable_text(const std::string& name, const std::string& why) {
  return format(
      "the region {} may hold blocks of a dead server that were never stored, and cannot be read: {}; recover it with the Damaris "
      "that made it and enough memory and open files (ulimit -v, ulimit -n): 'damaris recover {}'; if it is damaged, 'rm "
      "/dev/shm{}' gives up what it holds",
      name, why, name, name);
}

void clear_unreadable(const std::string& name, model::StalePolicy policy, const std::string& why) {
  const Obstacle obstacle = obstacle_of(name);
  if (obstacle == Obstacle::in_use) return log_line(LogLevel::debug, why);
  const bool unfinished = obstacle == Obstacle::unfinished;
  if (!unfinished && policy != model::StalePolicy::discard)
    throw Error(DC_E_STALE_REGION, unreadable_text(name, why) + ", as <buffer stale=\"discard\"> does");
  if (remove_unused(name))
    log_line(LogLevel::warning, unfinished ? format("removed the region {} that a server left unfinished", name)
                                           : format("removed the region {} with what it may hold: {}", name, why));
  else
    log_line(LogLevel::warning, format("the region {} stays: {}", name, why));
}

// Removing or recovering the region would lose what the client publishes afterwards.
void keep_for_client(const FoundRegion& region, model::StalePolicy policy) {
  const std::string client = format("process {} is still a client of the region {} of a dead server (pid {}) and may publish more",
                                    region.living_clients.front(), region.name, region.server_pid);
  if (!region.holds_data() || policy == model::StalePolicy::discard)
    return log_line(
        LogLevel::warning,
        format("{}, so the region stays; once it has ended, 'damaris recover {}' stores what is there", client, region.name));
  const std::string held = region.unreleased_blocks > 0 ? format("holds {} blocks", region.unreleased_blocks)
                                                        : format("alone knows that {}", loss_text(*region.lost));
  throw Error(DC_E_REGION_IN_USE,
              format("{}; end it first, then run 'damaris recover {}', because the region {}", client, region.name, held));
}

[[noreturn]] void refuse(const FoundRegion& region) {
  if (region.unreleased_blocks == 0)
    throw Error(DC_E_STALE_REGION,
                format("the region {} of a dead server (pid {}) holds no block, but alone knows that {}; record that with 'damaris "
                       "recover {}', or say <buffer stale=\"recover\">, or stale=\"discard\" to forget it",
                       region.name, region.server_pid, loss_text(*region.lost), region.name));
  throw Error(DC_E_STALE_REGION,
              format("the region {} of a dead server (pid {}) still holds {} blocks that were never stored; store them with "
                     "'damaris recover {}', or say <buffer stale=\"recover\">, or stale=\"discard\" to give them up",
                     region.name, region.server_pid, region.unreleased_blocks, region.name));
}

void clear_if_dead(const FoundRegion& region, model::StalePolicy policy, const Recover& recover) {
  if (region.alive) return;
  if (!region.living_clients.empty()) return keep_for_client(region, policy);
  const bool may_hold = region.holds_data() || region.servers > 1;
  if (may_hold && policy == model::StalePolicy::recover && recover) return recover(region.name);
  if (region.holds_data() && policy != model::StalePolicy::discard) refuse(region);
  Region open = Region::attach(region.name);
  if (!open.memory().try_lock(kTakeoverPart))
    throw Error(DC_E_REGION_IN_USE,
                format("another process recovers the region {} of a dead server (pid {}) at this moment; wait for its end, or end "
                       "what 'fuser /dev/shm{}' names",
                       region.name, region.server_pid, region.name));
  log_line(LogLevel::warning,
           format("removing the region {} of a dead server{}{}", region.name,
                  region.unreleased_blocks > 0 ? format(", with {} blocks that it had not stored", region.unreleased_blocks) : "",
                  region.lost ? "; " + loss_text(*region.lost) : ""));
  if (!region.spill_file.empty()) ::unlink(region.spill_file.c_str());
  SharedMemory::remove(region.name);
}

void clear(const std::string& name, model::StalePolicy policy, const Recover& recover) {
  FoundRegion found;
  try {
    found = inspect(name);
  } catch (const std::exception& error) {
    return clear_unreadable(name, policy, error.what());
  }
  clear_if_dead(found, policy, recover);
}

std::vector<FoundRegion> inspect_all(const std::vector<std::string>& names, std::vector<UnreadRegion>* unread) {
  std::vector<FoundRegion> regions;
  for (const std::string& name : names) try {
      regions.push_back(inspect(name));
    } catch (const std::exception& error) {  // being created, another user's, or of another version
      log_line(LogLevel::debug, error.what());
      if (unread == nullptr) continue;
      if (obstacle_of(name) == Obstacle::unreadable) unread->push_back({name, unreadable_text(name, error.what())});
    }
  return regions;
}

}  // namespace

std::vector<FoundRegion> find_regions(const std::string& prefix, std::vector<UnreadRegion>* unread) {
  return inspect_all(region_names_where([&](const std::string& name) { return begins_with(name, prefix); }), unread);
}

std::vector<FoundRegion> find_regions_of_runs(const std::set<std::string>& runs, std::vector<UnreadRegion>* unread) {
  const auto is_of_a_run = [&](const std::string& name) { return runs.count(run_of_region(name)) > 0; };
  return inspect_all(region_names_where(is_of_a_run), unread);
}

std::optional<FoundRegion> wait_until_clear(const std::string& prefix, std::int64_t timeout_ms,
                                            const std::function<bool(const FoundRegion&)>& is_blocking,
                                            const std::atomic<bool>* stop) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (true) {
    const auto regions = find_regions(prefix);
    const auto blocking =
        std::find_if(regions.begin(), regions.end(), [&](const FoundRegion& found) { return found.alive && is_blocking(found); });
    if (blocking == regions.end()) return std::nullopt;
    if (!blocking->leaving || deadline.expired() || (stop != nullptr && stop->load(std::memory_order_relaxed))) return *blocking;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void clear_dead_regions(const RunKey& key, model::StalePolicy policy, const Recover& recover) {
  for (const std::string& name : names_of_any_job(key)) try {
      clear(name, policy, recover);
    } catch (const Error&) {
      if (exists(name)) throw;  // otherwise a start in another job, which our lock does not exclude, has removed it
    }
}

void warn_of_others(const RunKey& key) {
  const std::string own = region_prefix(key);
  std::size_t regions = 0;
  std::string first;
  for (const FoundRegion& other : find_regions(simulation_prefix(key.simulation))) {
    if (other.alive || !other.holds_data() || begins_with(other.name, own)) continue;
    if (regions++ == 0) first = other.name;
  }
  if (regions == 0) return;
  const std::string what = regions == 1 ? "a region of a dead server of another run holds"
                                        : format("{} regions of dead servers of other runs hold", regions);
  log_line(LogLevel::warning, format("{} data that were never stored, {}{}; 'damaris recover --list' says what", what,
                                     regions == 1 ? "" : "such as ", first));
}

}  // namespace damaris::shm
