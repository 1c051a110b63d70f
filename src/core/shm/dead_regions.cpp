#include "core/shm/dead_regions.hpp"

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/region.hpp"
#include "core/shm/start_lock.hpp"

namespace damaris::shm {
namespace {

std::string safe(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  return text.substr(0, 48);
}

FoundRegion look_at(const std::string& name) {
  FoundRegion found;
  const Region region = Region::attach(name);
  const RegionHeader& header = region.header();
  found.name = name;
  found.server = {header.server_pid, header.server_start_time};
  const auto state = static_cast<RegionState>(header.state.load(std::memory_order_acquire));
  found.alive = state != RegionState::closed && is_alive(found.server);
  found.ready = found.alive && state == RegionState::ready;
  found.leaving = found.alive && state == RegionState::leaving;
  found.detached = header.detached != 0;
  found.simulation = std::string(header.simulation, ::strnlen(header.simulation, sizeof header.simulation));
  found.config_digest = header.config_digest;
  found.config_place = header.config_place;
  if (!found.alive) found.unreleased_blocks = region.unreleased_blocks();
  return found;
}

}  // namespace

std::string job_name() {
  for (const char* variable : {"DAMARIS_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return safe(value);
  return "local";
}

std::string job_prefix() { return format("/damaris.{}.{}.", ::geteuid(), job_name()); }

std::string region_prefix(const std::string& simulation) { return format("{}{}.", job_prefix(), safe(simulation)); }

std::string run_prefix(const std::string& simulation, std::uint64_t nonce) {
  return format("{}{:08x}.", region_prefix(simulation), nonce & 0xffffffffu);
}

std::string region_name(const std::string& simulation, std::uint64_t nonce, int node, int server) {
  return format("{}n{}.s{}", run_prefix(simulation, nonce), node, server);
}

std::uint64_t make_nonce() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

std::vector<FoundRegion> find_regions(const std::string& prefix) {
  std::vector<FoundRegion> regions;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/dev/shm"), ::closedir);
  if (folder == nullptr) return regions;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = std::string("/") + entry->d_name;
    if (name.compare(0, prefix.size(), prefix) != 0 || is_start_lock(name)) continue;
    try {
      regions.push_back(look_at(name));
    } catch (const Error& error) {  // being made, somebody else's, or another version's: not ours to judge
      log_line(LogLevel::debug, error.sentence());
    }
  }
  std::sort(regions.begin(), regions.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
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

void clear_dead_regions(const std::string& prefix, model::StalePolicy policy) {
  for (const FoundRegion& region : find_regions(prefix)) {
    if (region.alive) continue;
    if (region.unreleased_blocks > 0 && policy == model::StalePolicy::refuse)
      throw Error(DC_E_STALE_REGION,
                  format("the region {} of a dead server (pid {}) still holds {} datasets that were never stored; remove it with "
                         "'rm /dev/shm{}' or set <buffer stale=\"discard\"> to give them up",
                         region.name, region.server.pid, region.unreleased_blocks, region.name));
    log_line(LogLevel::warning,
             format("removing the region {} of a dead server ({} datasets given up)", region.name, region.unreleased_blocks));
    ::shm_unlink(region.name.c_str());
  }
}

}  // namespace damaris::shm
