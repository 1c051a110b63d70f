#include "core/shm/region_names.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"

namespace damaris::shm {
namespace {

constexpr std::size_t kRunParts = 4;  // of a run's prefix, behind the user: job, simulation, digest, nonce

std::string safe(std::string text) {
  for (char& c : text)
    if (!is_ascii_letter_or_digit(c) && c != '-' && c != '_') c = '_';
  return text.substr(0, 48);
}

bool is_safe_name(const std::string& text) { return !text.empty() && safe(text) == text; }

bool is_hex(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Appends a digest of the original to a changed name, so that different names stay different.
std::string safe_and_unique(const std::string& text) {
  constexpr std::size_t kKept = 40;
  const std::string changed = safe(text);
  return changed == text ? text : format("{}-{:07x}", changed.substr(0, kKept), digest(text) & 0xfffffffU);
}

// The file need not exist yet.
std::string real_path(const std::string& path) {
  std::error_code unreadable;
  const std::filesystem::path absolute = absolute_path(path);
  const std::filesystem::path folder = std::filesystem::weakly_canonical(absolute.parent_path(), unreadable);
  return unreadable ? absolute.string() : (folder / absolute.filename()).string();
}

// What the dots behind user_prefix() separate; nothing if `text` does not begin with it.
std::vector<std::string> parts_behind_user(const std::string& text) {
  const std::string user = user_prefix();
  if (!begins_with(text, user)) return {};
  std::vector<std::string> parts(1);
  for (std::size_t at = user.size(); at < text.size(); ++at)
    if (text[at] == '.')
      parts.emplace_back();
    else
      parts.back() += text[at];
  return parts;
}

bool is_run(const std::vector<std::string>& parts) {
  return is_safe_name(parts[0]) && is_safe_name(parts[1]) && is_hex(parts[2], 16) && is_hex(parts[3], 8);
}

// "n12".
bool is_numbered(const std::string& part, char letter) {
  return part.size() > 1 && part[0] == letter && part.find_first_not_of("0123456789", 1) == std::string::npos;
}

bool is_of_user(const std::string& name) {
  struct stat info = {};
  return ::lstat(("/dev/shm" + name).c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

Error unlisted(int error) {
  return system_error(DC_E_SHM, "cannot list /dev/shm", error,
                      "check its permissions, normally 1777, and the limits of the process (ulimit -n, ulimit -v)");
}

constexpr std::string_view kEnding = ".lock";

// The previous holder may have unlinked the file between our open and our lock: then we have locked a file without a name.
bool is_still_named(int descriptor, const std::string& name) {
  struct stat ours = {}, named = {};
  return ::fstat(descriptor, &ours) == 0 && ::stat(("/dev/shm" + name).c_str(), &named) == 0 && ours.st_ino == named.st_ino;
}

}  // namespace

std::string job_name() {
  for (const char* variable : {"DAMARIS_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return safe_and_unique(value);
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

bool is_run_prefix(const std::string& text) {
  const std::vector<std::string> parts =
      parts_behind_user(text);  // job, simulation, digest, nonce, and nothing behind the last dot
  return parts.size() == kRunParts + 1 && is_run(parts) && parts[kRunParts].empty();
}

std::string region_name(const RunKey& key, std::uint64_t nonce, int node, int server) {
  return format("{}n{}.s{}", run_prefix(key, nonce), node, server);
}

bool is_region_name(const std::string& name) {
  const std::vector<std::string> parts = parts_behind_user(name);  // ... node, server
  return parts.size() == kRunParts + 2 && is_run(parts) && is_numbered(parts[kRunParts], 'n') &&
         is_numbered(parts[kRunParts + 1], 's');
}

std::uint64_t make_nonce() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

void for_each_name_of_user(const std::function<void(const std::string&)>& take) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/dev/shm"), &::closedir);
  if (folder == nullptr && errno == ENOENT) return;
  if (folder == nullptr) throw unlisted(errno);
  const std::string start = user_prefix().substr(1);
  errno = 0;
  for (const dirent* entry; (entry = ::readdir(folder.get())) != nullptr; errno = 0) {
    if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) continue;
    if (std::strncmp(entry->d_name, start.c_str(), start.size()) == 0) take("/" + std::string(entry->d_name));
  }
  if (errno != 0) throw unlisted(errno);
}

std::vector<std::string> region_names_where(const std::function<bool(const std::string&)>& is_wanted) {
  std::vector<std::string> names;
  for_each_name_of_user([&](const std::string& name) {
    if (is_wanted(name) && is_region_name(name) && is_of_user(name)) names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

void remove_dead_start_locks() try {
  for_each_name_of_user([](const std::string& name) {
    if (!ends_with(name, kEnding)) return;
    const int descriptor = open_own("/dev/shm" + name, O_RDWR);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_still_named(descriptor, name)) ::shm_unlink(name.c_str());
    ::close(descriptor);
  });
} catch (const Error&) {
  // They stay where /dev/shm cannot be listed.
}

StartLock::StartLock(const RunKey& key) : simulation_(key.simulation), name_(region_prefix(key) + "lock") {}

StartLock::~StartLock() {
  if (descriptor_ < 0) return;
  // Before releasing the lock, or the next holder would lose the name.
  if (creator_.is_this_process()) ::shm_unlink(name_.c_str());
  ::close(descriptor_);
}

bool StartLock::try_take() {
  if (descriptor_ >= 0) return true;
  const int descriptor = open_own("/dev/shm" + name_, O_CREAT | O_RDWR, 0600);
  if (descriptor < 0) {
    const int error = errno;
    const std::string path = "/dev/shm" + name_;
    const std::string what = format("no server of this run can start: cannot make the start lock {}", path);
    const std::string in_the_way = why_not_own(path, error, "set DAMARIS_JOB to another name");
    if (in_the_way != why_not_own(path, error)) throw Error(DC_E_SHM, format("{}: {}", what, in_the_way));
    throw system_error(DC_E_SHM, what, error,
                       "/dev/shm has to be a tmpfs (mode 1777) with room: 'df -h /dev/shm' and 'df -i /dev/shm' show what is full, "
                       "'mount -o remount,rw /dev/shm' lets it be written");
  }
  const int failure = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (failure == 0 && is_still_named(descriptor, name_)) {
    descriptor_ = descriptor;
    return true;
  }
  ::close(descriptor);
  if (failure == 0 || failure == EWOULDBLOCK || failure == EINTR) return false;
  throw system_error(DC_E_SHM, format("cannot lock /dev/shm{}", name_), failure, "mount a tmpfs there");
}

void StartLock::take(std::int64_t timeout_ms, const std::atomic<bool>* stop) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (!try_take()) {
    const bool stopped = stop != nullptr && stop->load(std::memory_order_relaxed);
    if (stopped || deadline.expired()) throw held(stopped ? "asked to stop while waiting" : format("waited {} ms", timeout_ms));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Error StartLock::held(const std::string& how_long) const {
  return Error(
      DC_E_TIMEOUT,
      format("another start of '{}' on this node is under way and holds /dev/shm{} ({}); let it finish, or end the process "
             "that 'fuser /dev/shm{}' names",
             simulation_, name_, how_long, name_));
}

}  // namespace damaris::shm
