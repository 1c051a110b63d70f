#include "tools/record/pool_server.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.hpp"
#include "core/base/process.hpp"

namespace damaris::record {
namespace {

using trace::ChunkHead;
using trace::load;

constexpr int kLook_ms = 50;   // between two looks at the processes
constexpr int kPause_ms = 20;  // at most, between two looks at the chunks
constexpr int kTries = 250;    // of a file system that refuses what dead processes have left

std::uint64_t clock_ns(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// What is not empty at the end; 0: nobody has begun it, or it has no slot.
std::uint32_t used(const char* chunk) {
  std::size_t end = trace::kChunkBytes;
  const auto is_empty = [&](std::size_t at) {
    static const char zeros[sizeof(trace::Slot)] = {};
    return std::memcmp(chunk + at, zeros, sizeof zeros) == 0;
  };
  while (end > sizeof(ChunkHead) && is_empty(end - sizeof(trace::Slot))) end -= sizeof(trace::Slot);
  return end > sizeof(ChunkHead) ? static_cast<std::uint32_t>(end) : 0;
}

logs::LogSettings settings_of(const std::string& raw, const std::string& host, int files) {
  logs::LogSettings settings;
  settings.basename = raw + "/trace";
  settings.host = host;
  settings.name = "calls";
  settings.files = files;
  settings.block_bytes = 4 * trace::kChunkBytes;
  settings.run = clock_ns(CLOCK_REALTIME);
  settings.existing = logs::Existing::append;  // of a server of this run that had ended
  return settings;
}

}  // namespace

PoolServer::PoolServer(const trace::Pool& pool, const std::string& raw, const std::string& host, int files)
    : pool_(pool), log_(settings_of(raw, host, files)) {
  for (int file = 0; file < files; ++file) ends_.push_back(log_.end(static_cast<std::uint32_t>(file)));
}

// Streams of living processes. One that has become another program has its new stream alone.
std::set<std::uint64_t> PoolServer::living() {
  std::set<std::uint64_t> streams;
  for (std::size_t i = 0; i < trace::kMostProcesses; ++i) {
    const std::int32_t pid = load(pool_.processes()[i].pid);
    if (pid == 0) continue;
    const std::uint64_t stream = load(pool_.processes()[i].stream);
    Known& known = known_[i];
    if (known.watch.pid() != pid || known.stream != stream) known = {stream, ProcessWatch(pid, start_time_of(pid))};
    if (known.watch.alive()) streams.insert(stream);
  }
  return streams;
}

// Processes that are dead and have no chunk.
void PoolServer::forget_dead(const std::set<std::uint64_t>& left) {
  for (std::size_t i = 0; i < trace::kMostProcesses; ++i) {
    trace::PoolProcess& process = pool_.processes()[i];
    const std::int32_t pid = load(process.pid);
    if (pid == 0) known_.erase(i);
    const auto found = known_.find(i);
    if (found == known_.end() || found->second.watch.pid() != pid || found->second.watch.alive()) continue;
    if (left.count(load(process.stream)) != 0) continue;
    known_.erase(found);
    if (is_alive(pid, 0)) continue;  // another process has got the number
    trace::store(process.pid, 0);
  }
}

bool PoolServer::store(const std::vector<std::uint32_t>& chunks) try {
  std::vector<logs::Append> appends;
  std::vector<std::uint64_t> ends = ends_;
  for (const std::uint32_t chunk : chunks) {
    char* const bytes = pool_.chunk(chunk);
    const std::uint32_t size = used(bytes);
    if (size == 0) continue;
    std::memcpy(bytes + offsetof(ChunkHead, bytes), &size, sizeof size);
    const std::uint64_t stream = load(pool_.owners()[chunk]) >> 1;
    const auto file = static_cast<std::uint32_t>(stream % ends.size());
    appends.push_back({file, static_cast<std::int64_t>(stream), {ends[file], size}, reinterpret_cast<const std::byte*>(bytes)});
    ends[file] += size;
  }
  log_.store(appends);
  ends_ = ends;
  for (const std::uint32_t chunk : chunks) {
    std::memset(pool_.chunk(chunk), 0, std::max<std::size_t>(used(pool_.chunk(chunk)), sizeof(ChunkHead)));
    trace::store(pool_.owners()[chunk], 0);
  }
  if (!chunks.empty()) trace::ring(pool_.head().freed);
  return true;
} catch (const Error&) {
  return false;  // the recorders wait, and go on with files of their own
}

// Stores what is full, and what the dead have left. False: the file system has refused it.
bool PoolServer::empty(bool looks) {
  std::vector<std::uint64_t> owners(pool_.chunks());
  for (std::uint32_t chunk = 0; chunk < owners.size(); ++chunk) owners[chunk] = load(pool_.owners()[chunk]);
  // After the chunks: who has taken one was a living process before.
  const std::set<std::uint64_t> alive = looks ? living() : std::set<std::uint64_t>();
  std::vector<std::uint32_t> chunks;
  std::set<std::uint64_t> left;
  for (std::uint32_t chunk = 0; chunk < owners.size(); ++chunk) {
    const bool is_full = (owners[chunk] & trace::kFull) != 0;
    const bool is_over = looks && owners[chunk] != 0 && alive.count(owners[chunk] >> 1) == 0;
    if (is_full || is_over) chunks.push_back(chunk);
    if (owners[chunk] != 0) left.insert(owners[chunk] >> 1);
  }
  std::sort(chunks.begin(), chunks.end(), [&](std::uint32_t a, std::uint32_t b) { return owners[a] < owners[b]; });
  const bool is_stored = store(chunks);
  if (looks && is_stored && chunks.empty()) forget_dead(left);
  return is_stored;
}

bool PoolServer::is_needed() const {
  for (std::size_t i = 0; i < trace::kMostProcesses; ++i)
    if (load(pool_.processes()[i].pid) != 0) return true;
  for (std::uint32_t chunk = 0; chunk < pool_.chunks(); ++chunk)
    if (load(pool_.owners()[chunk]) != 0) return true;
  return false;
}

// What is in the log is there, whether or not it is durable.
void PoolServer::finish() try { log_.finish(); } catch (const Error&) {
}

bool PoolServer::run() {
  trace::PoolHead& head = pool_.head();
  std::uint64_t looked = 0;
  for (int refused = 0; refused < kTries;) {
    const std::uint32_t seen = load(head.filled);
    const std::uint64_t now = clock_ns(CLOCK_MONOTONIC) / 1'000'000;
    const bool looks = now - looked >= kLook_ms;
    if (looks) looked = now;
    const bool is_stored = empty(looks);
    refused = is_stored || !living().empty() ? 0 : refused + 1;
    if (is_stored && !is_needed()) {
      trace::store(head.closed, 1);
      if (!is_needed()) {
        finish();
        return true;
      }
      trace::store(head.closed, 0);  // one has come meanwhile
    }
    trace::wait(head.filled, seen, kPause_ms);
  }
  trace::store(head.closed, 1);
  return false;
}

}  // namespace damaris::record
