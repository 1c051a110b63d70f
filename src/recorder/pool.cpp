#include "recorder/pool.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "trace/pool.hpp"

namespace damaris::recorder::pool {
namespace {

using trace::load;

constinit trace::Pool pool;  // calls come before constructors
trace::PoolHead known;       // as it was when this process came: what never changes is taken from here
std::uint64_t stream;
bool given_up;
pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;

std::uint64_t now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

// The state of a process and its start time; false: there is none.
bool look_at(int pid, char& state, unsigned long long& start) {
  char path[40], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const long got = ::syscall(SYS_read, file, text, sizeof text - 1);
  ::syscall(SYS_close, file);
  text[got > 0 ? got : 0] = '\0';
  const char* const rest = std::strrchr(text, ')');
  return rest != nullptr &&
         std::sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
                     &start) == 2;
}

// Also when nobody can say: a living server must not be taken for dead.
bool is_server_alive() {
  char state = 0;
  unsigned long long start = 0;
  if (!look_at(known.server, state, start)) return ::syscall(SYS_kill, known.server, 0) == 0 || errno != ESRCH;
  return start == known.server_start && state != 'Z' && state != 'X';
}

// Until `is_done`, the server's death, or the pool's time-out. `word` counts what the server has done.
template <class Condition>
bool wait_for(std::uint32_t& word, Condition is_done) {
  constexpr long kLook = 50;  // ms between two looks at the server
  for (const std::uint64_t until = now_ms() + known.wait_ms; !given_up;) {
    const std::uint32_t seen = load(word);
    if (is_done()) return true;
    if (now_ms() >= until || !is_server_alive()) break;
    trace::wait(word, seen, kLook);
  }
  return is_done();
}

// Maps the pool of this user at the path; it stays mapped, as threads go on to the very end.
void map(const char* path) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  struct stat facts = {};
  void* base = MAP_FAILED;
  if (::fstat(static_cast<int>(file), &facts) == 0 && facts.st_uid == ::geteuid() &&
      static_cast<std::size_t>(facts.st_size) >= trace::pool_bytes(1))
    base = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
  ::syscall(SYS_close, file);
  if (base == MAP_FAILED) return;
  const trace::Pool mapped(base, static_cast<std::size_t>(facts.st_size));
  if (std::memcmp(mapped.head().magic, trace::kPoolMagic, sizeof trace::kPoolMagic) == 0 &&
      mapped.head().version == trace::kPoolVersion) {
    known = mapped.head();
    pool = mapped;
  }
}

void* take_free() {
  const std::uint32_t count = pool.chunks();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint32_t>((stream + i) % count);
    if (load(pool.owners()[at]) == 0 && trace::claim(pool.owners()[at], trace::owner_of(stream))) return pool.chunk(at);
  }
  return nullptr;
}

// A server that is woken takes the core from who wakes it, so it is left to its own pace while there is room.
bool is_filling() {
  std::uint32_t full = 0;
  for (std::uint32_t i = 0; i < pool.chunks(); ++i) full += (load(pool.owners()[i]) & trace::kFull) != 0 ? 1 : 0;
  return full >= pool.chunks() / 4;
}

bool has_chunks_left() {
  for (std::uint32_t i = 0; i < pool.chunks(); ++i)
    if (load(pool.owners()[i]) == (trace::owner_of(stream) | trace::kFull)) return true;
  return false;
}

// What a dead server has left of this process, but for chunks that threads still fill: those stay in the pool, for unify. The others are free
// then, and empty as those that a server frees.
void save_rest(Save save) {
  ::pthread_mutex_lock(&saving);
  for (std::uint32_t i = 0; i < pool.chunks(); ++i) {
    if (load(pool.owners()[i]) != (trace::owner_of(stream) | trace::kFull) || !save(pool.chunk(i))) continue;
    std::memset(pool.chunk(i), 0, trace::kChunkBytes);
    trace::store(pool.owners()[i], 0);
  }
  ::pthread_mutex_unlock(&saving);
}

bool is_last() {
  for (std::size_t i = 0; i < trace::kMostProcesses; ++i)
    if (load(pool.processes()[i].pid) != 0) return false;
  return true;
}

void publish(void* chunk) { trace::store(pool.owners()[pool.number_of(chunk)], trace::owner_of(stream) | trace::kFull); }

}  // namespace

bool enter() {
  const char* const path = ::getenv("DAMARIS_RECORDING_POOL");
  if (path == nullptr || *path == '\0') return false;
  if (!pool.is_there()) map(path);
  if (!pool.is_there() || load(pool.head().closed) != 0) return false;
  trace::PoolProcess* const mine = trace::enter(pool, ::getpid());
  if (mine == nullptr) return false;
  stream = __atomic_add_fetch(&pool.head().last_stream, 1, __ATOMIC_SEQ_CST);
  trace::store(mine->stream, stream);
  // One that closes looks for processes again afterwards; the entry may have been that of a dead process with this pid.
  if (load(mine->pid) == ::getpid() && load(pool.head().closed) == 0) return true;
  stream = 0;
  return false;
}

void* take() {
  if (!pool.is_there() || given_up || load(pool.head().closed) != 0) return nullptr;
  return stream != 0 || enter() ? take_free() : nullptr;  // 0: it has settled, and libraries go on
}

bool is_entered() { return stream != 0; }

bool has(const void* chunk) { return pool.has(chunk); }

void* next_for(void* full, Save save) {
  publish(full);
  void* next = take_free();
  if (next == nullptr || is_filling()) trace::ring(pool.head().filled);
  if (next != nullptr) return next;
  if (wait_for(pool.head().freed, [&] { return (next = take_free()) != nullptr; })) return next;
  given_up = true;
  if (!is_server_alive()) save_rest(save);
  return nullptr;
}

void give_back(void* chunk) { publish(chunk); }

void settle(bool is_alone, Save save) {
  trace::ring(pool.head().filled);
  if (!wait_for(pool.head().freed, [] { return !has_chunks_left(); })) {
    given_up = true;
    if (!is_server_alive()) save_rest(save);
    return;
  }
  if (!is_alone) return;  // its threads have chunks: the server waits for its death
  if (trace::PoolProcess* const mine = trace::enter(pool, ::getpid()); mine != nullptr) trace::store(mine->pid, 0);
  stream = 0;
  trace::ring(pool.head().filled);
  if (is_last()) wait_for(pool.head().ended, [] { return load(pool.head().ended) != 0 || !is_last(); });
}

// The child has the mapping, too.
void forget_parent() {
  stream = 0;
  given_up = false;
  saving = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace damaris::recorder::pool
