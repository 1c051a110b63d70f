#include "core/shm/dead_regions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "core/base/ascii.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/own_file.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/open_steps.hpp"
#include "core/shm/region.hpp"
#include "core/shm/start_lock.hpp"

namespace damaris::shm {
namespace {

std::string safe(std::string text) {
  for (char& c : text)
    if (!is_ascii_letter_or_digit(c) && c != '-' && c != '_') c = '_';
  return text.substr(0, 48);
}

// A changed name gets a digest of the original, so that different names stay different.
std::string safe_and_unlike(const std::string& text) {
  constexpr std::size_t kKept = 40;
  const std::string changed = safe(text);
  return changed == text ? text : format("{}-{:07x}", changed.substr(0, kKept), digest(text) & 0xfffffffU);
}

// Of a file that need not exist yet.
std::string real_path(const std::string& path) {
  std::error_code unreadable;
  const std::filesystem::path absolute = std::filesystem::absolute(path, unreadable).lexically_normal();
  const std::filesystem::path folder = std::filesystem::weakly_canonical(absolute.parent_path(), unreadable);
  return unreadable ? absolute.string() : (folder / absolute.filename()).string();
}

bool begins_with(const std::string& name, const std::string& prefix) { return name.rfind(prefix, 0) == 0; }

// Other users may create any number of such names: checking the owner first is cheap.
bool may_be_ours(const char* path) {
  struct stat info = {};
  return ::lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

std::vector<std::string> names_where(const std::function<bool(const std::string&)>& is_wanted) {
  std::vector<std::string> names;
  std::error_code ignored;  // an entry may vanish under the walk
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    std::string name = "/" + entry.path().filename().string();
    if (is_wanted(name) && !is_start_lock(name) && may_be_ours(entry.path().c_str())) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A resubmitted simulation runs as another job.
std::vector<std::string> names_of_any_job(const RunKey& key) {
  const std::string user = user_prefix(), behind_job = region_prefix(key).substr(job_prefix().size());
  return names_where([&](const std::string& name) {
    return begins_with(name, user) && begins_with(name, format("{}{}.{}", user, job_of_region(name), behind_job));
  });
}

bool is_there(const std::string& name) { return ::access(("/dev/shm" + name).c_str(), F_OK) == 0; }

FoundRegion look_at(const std::string& name) {
  FoundRegion found;
  const Region region = Region::attach(name);
  const RegionHeader& header = region.header();
  found.name = name;
  found.server = {header.server_pid, header.server_start_time, header.server_space};
  const auto state = static_cast<RegionState>(header.state.load(std::memory_order_acquire));
  // A server that has closed its region holds it until it has unmapped it, which takes a while for a large one.
  found.alive = state == RegionState::closed ? region.memory().is_held_elsewhere(kServerPart) : region.server_lives();
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
  found.lacks_writes = lacks_writes(header);
  return found;
}

// Each process that uses a region keeps a descriptor of it. The links in /proc are read, not followed, so nothing here blocks.
bool is_open_somewhere(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // processes of others, and those that end meanwhile
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    if (std::isdigit(static_cast<unsigned char>(process.path().filename().string()[0])) == 0) continue;
    std::error_code closed;
    for (fs::directory_iterator entry(process.path() / "fd", closed), end; !closed && entry != end; entry.increment(closed))
      if (fs::read_symlink(entry->path(), ignored) == "/dev/shm" + name) return true;
  }
  return false;
}

struct Unreadable {
  bool ours = false;
  bool unfinished = false;  // its server died while making it: no client can have written into it
};

Unreadable look_at_unreadable(const std::string& name) {
  Unreadable region;
  const int descriptor = open_own("/dev/shm" + name, O_RDWR);
  if (descriptor < 0) return region;
  struct stat info = {};
  std::uint64_t magic = 0;
  struct flock held = {};
  held.l_type = F_WRLCK;  // of any part
  const bool is_held = ::fcntl(descriptor, F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK;
  region.ours = ::fstat(descriptor, &info) == 0 && (info.st_mode & 077) == 0 && !is_held;
  region.unfinished = ::pread(descriptor, &magic, sizeof magic, 0) >= 0 && magic == 0;
  ::close(descriptor);
  region.ours = region.ours && !is_open_somewhere(name);
  return region;
}

void clear_unreadable(const std::string& name, model::StalePolicy policy, const std::string& why) {
  const Unreadable region = look_at_unreadable(name);
  if (!region.ours) return log_line(LogLevel::debug, why);
  if (!region.unfinished && policy != model::StalePolicy::discard)
    throw Error(
        DC_E_STALE_REGION,
        format("no process uses the region {} any more, and it may hold datasets that were never stored, but {}; remove it with "
               "'rm /dev/shm{}' or set <buffer stale=\"discard\"> to give them up",
               name, why, name));
  log_line(LogLevel::warning,
           format("removing the region {} that {}", name, region.unfinished ? "a server left unfinished" : "no process can read"));
  SharedMemory::remove(name);
}

[[noreturn]] void refuse(const FoundRegion& region) {
  if (region.unreleased_blocks == 0)
    throw Error(
        DC_E_STALE_REGION,
        format("the region {} of a dead server (pid {}) holds no dataset, but alone knows that {}; record that with 'damaris "
               "recover {}', or say <buffer stale=\"recover\">, or stale=\"discard\" to forget it",
               region.name, region.server.pid, left_out(*region.lacks_writes), region.name));
  throw Error(DC_E_STALE_REGION,
              format("the region {} of a dead server (pid {}) still holds {} datasets that were never stored; store them with "
                     "'damaris recover {}', or say <buffer stale=\"recover\">, or stale=\"discard\" to give them up",
                     region.name, region.server.pid, region.unreleased_blocks, region.name));
}

void clear_if_dead(const FoundRegion& region, model::StalePolicy policy, const Recover& recover) {
  if (region.alive) return;
  const bool may_hold = region.holds_data() || region.servers > 1;
  if (may_hold && policy == model::StalePolicy::recover && recover) return recover(region.name);
  if (region.holds_data() && policy != model::StalePolicy::discard) refuse(region);
  Region open = Region::attach(region.name);
  if (!open.memory().try_hold(kServerPart))
    throw Error(DC_E_REGION_IN_USE,
                format("the server of the region {} (pid {}) is dead, but another process holds the region; end "
                       "what 'fuser /dev/shm{}' names",
                       region.name, region.server.pid, region.name));
  log_line(LogLevel::warning, format("removing the region {} of a dead server ({} datasets given up{})", region.name,
                                     region.unreleased_blocks, region.lacks_writes ? "; " + left_out(*region.lacks_writes) : ""));
  if (!region.spill_file.empty()) ::unlink(region.spill_file.c_str());
  SharedMemory::remove(region.name);
}

void clear(const std::string& name, model::StalePolicy policy, const Recover& recover) {
  FoundRegion found;
  try {
    found = look_at(name);
  } catch (const Error& error) {
    return clear_unreadable(name, policy, error.sentence());
  }
  clear_if_dead(found, policy, recover);
}

}  // namespace

std::string left_out(const StepRange& steps) {
  const std::string which =
      steps.first == steps.last ? format("step {}", steps.first) : format("steps {} to {}", steps.first, steps.last);
  return format("writes of {} were left out for want of room", which);
}

std::string job_name() {
  for (const char* variable : {"DAMARIS_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return safe_and_unlike(value);
  return "local";
}

std::string job_of_region(const std::string& region) {
  const std::string user = user_prefix();
  const std::size_t end = begins_with(region, user) ? region.find('.', user.size()) : std::string::npos;
  return end == std::string::npos ? job_name() : region.substr(user.size(), end - user.size());
}

std::string user_prefix() { return format("/damaris.{}.", ::geteuid()); }

std::string job_prefix() { return format("{}{}.", user_prefix(), job_name()); }

std::string simulation_prefix(const std::string& simulation) { return format("{}{}.", job_prefix(), safe(simulation)); }

std::string region_prefix(const RunKey& key) {
  return format("{}{:016x}.", simulation_prefix(key.simulation), digest(key.simulation + '\n' + key.place));
}

RunKey run_key(const model::Model& model) {
  std::string place;
  for (const model::Plugin& plugin : model.plugins)
    for (const auto& [name, value] : plugin.settings)
      if (plugin.storage && name == "basename") place += real_path(value) + '\n';
  return {model.simulation, place.empty() ? real_path(model.file) : place};
}

std::string run_of_region(const std::string& region) {
  const std::size_t server = region.rfind('.');
  const std::size_t node = server == std::string::npos || server == 0 ? server : region.rfind('.', server - 1);
  return node == std::string::npos ? "" : region.substr(0, node + 1);
}

std::string run_prefix(const RunKey& key, std::uint64_t nonce) {
  return format("{}{:08x}.", region_prefix(key), nonce & 0xffffffffu);
}

std::string region_name(const RunKey& key, std::uint64_t nonce, int node, int server) {
  return format("{}n{}.s{}", run_prefix(key, nonce), node, server);
}

std::uint64_t make_nonce() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

std::vector<FoundRegion> find_regions(const std::string& prefix) {
  std::vector<FoundRegion> regions;
  for (const std::string& name : names_where([&](const std::string& name) { return begins_with(name, prefix); })) try {
      regions.push_back(look_at(name));
    } catch (const Error& error) {  // being made, another user's, or of another version: skipped
      log_line(LogLevel::debug, error.sentence());
    }
  return regions;
}

std::optional<FoundRegion> wait_for_way(const std::string& prefix, std::int64_t timeout_ms,
                                        const std::function<bool(const FoundRegion&)>& in_the_way, const std::atomic<bool>* stop) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (true) {
    const auto regions = find_regions(prefix);
    const auto blocking =
        std::find_if(regions.begin(), regions.end(), [&](const FoundRegion& found) { return found.alive && in_the_way(found); });
    if (blocking == regions.end()) return std::nullopt;
    if (!blocking->leaving || deadline.passed() || (stop != nullptr && stop->load())) return *blocking;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void clear_dead_regions(const RunKey& key, model::StalePolicy policy, const Recover& recover) {
  for (const std::string& name : names_of_any_job(key)) try {
      clear(name, policy, recover);
    } catch (const Error&) {
      if (is_there(name)) throw;  // else a start in another job, which our lock does not exclude, has removed it
    }
}

void warn_of_others(const RunKey& key) {
  const std::string own = region_prefix(key);
  for (const FoundRegion& other : find_regions(simulation_prefix(key.simulation)))
    if (!other.alive && other.holds_data() && !begins_with(other.name, own))
      log_line(LogLevel::warning,
               format("the region {} of a dead server holds {} datasets of another run that were never stored{}; 'damaris "
                      "recover {}' stores them",
                      other.name, other.unreleased_blocks, other.lacks_writes ? ", and " + left_out(*other.lacks_writes) : "",
                      other.name));
}

}  // namespace damaris::shm
