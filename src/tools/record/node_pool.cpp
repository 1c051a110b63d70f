#include "tools/record/node_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"
#include "core/base/process.hpp"
#include "tools/record/pool_server.hpp"
#include "trace/pool.hpp"

namespace damaris::record {
namespace {

using trace::load;

constexpr int kStart_ms = 10'000;
constexpr std::size_t kSpare = 8;  // chunks for threads and children

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(DC_E_IO, format("cannot {}: {}", what, text_of_errno(error)));
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  int get() const { return descriptor_; }
  // A mapping, which the server inherits, would keep the lock.
  void close() {
    if (descriptor_ < 0) return;
    ::flock(descriptor_, LOCK_UN);
    ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

int number_in(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

// As far as the launcher says.
std::size_t processes_here() {
  int most = 1;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "SLURM_TASKS_PER_NODE"})
    most = std::max(most, number_in(name));
  return static_cast<std::size_t>(most);
}

// The file at the path, locked: the servers of two runs have two paths, and one that has ended takes its file away.
int locked(const std::string& path) {
  for (const Deadline deadline = Deadline::after_ms(2 * kStart_ms); !deadline.expired();) {
    const int file = open_own(path, O_RDWR | O_CREAT);
    if (file < 0) throw Error(DC_E_IO, format("cannot make the pool '{}': {}", path, why_not_own(path, errno)));
    struct stat here = {}, there = {};
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &here) == 0 && ::stat(path.c_str(), &there) == 0 &&
        here.st_ino == there.st_ino)
      return file;
    ::close(file);
    ::usleep(5000);
  }
  throw Error(DC_E_TIMEOUT, format("another process holds the pool '{}' too long", path));
}

trace::Pool mapped(int file, std::size_t bytes) {
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) fail("map the pool", errno);
  return trace::Pool(base, bytes);
}

// Room for the pool that is there for certain: without it a later write is a signal.
std::size_t make_room(int file, std::size_t wanted) {
  struct statvfs space = {};
  rlimit limit = {};  // a file that is larger is a signal
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    wanted = std::min<std::size_t>(wanted,
                                   (limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, trace::kFirstChunkAt)) / trace::kChunkBytes);
  if (::fstatvfs(file, &space) == 0)
    wanted = std::min<std::size_t>(wanted, space.f_bavail * space.f_frsize / 2 / trace::kChunkBytes);
  for (std::size_t chunks = std::min(wanted, trace::kMostChunks); chunks > 0; chunks /= 2)
    if (::ftruncate(file, static_cast<off_t>(trace::pool_bytes(chunks))) == 0 &&
        ::posix_fallocate(file, 0, static_cast<off_t>(trace::pool_bytes(chunks))) == 0)
      return chunks;
  throw Error(DC_E_IO, "there is no room for its chunks in /dev/shm");
}

bool has_server(const trace::Pool& pool) {
  const trace::PoolHead& head = pool.head();
  return std::memcmp(head.magic, trace::kPoolMagic, sizeof head.magic) == 0 && is_alive(load(head.server), load(head.server_start));
}

enum class Entry { made, server_ended, server_dead };

// A server that is about to end may still write its log and take its file away, or go on when it sees the entry.
Entry enter_for_server(const trace::Pool& pool) {
  const trace::PoolHead& head = pool.head();
  for (const Deadline deadline = Deadline::after_ms(kStart_ms); !deadline.expired(); ::usleep(2000)) {
    if (!has_server(pool)) return load(head.ended) != 0 ? Entry::server_ended : Entry::server_dead;
    if (load(head.ended) != 0) return Entry::server_ended;
    if (trace::enter(pool, ::getpid()) == nullptr) throw Error(DC_E_IO, format("its pool has {} processes", trace::kMostProcesses));
    if (load(head.closed) == 0) return Entry::made;
  }
  throw Error(DC_E_TIMEOUT, format("the server of its pool has not ended after {} s", kStart_ms / 1000));
}

// In a process of its own. `ready`: gets a word when it serves, else the reason why not.
[[noreturn]] void serve(const trace::Pool& pool, const std::string& path, const std::string& raw, int files, int ready) {
  const auto say = [&ready](const std::string& text) { return ::write(ready, text.data(), text.size()) > 0; };
  try {
    char host[65] = {};
    ::gethostname(host, sizeof host - 1);
    PoolServer server(pool, raw, host, files);
    trace::PoolHead& head = pool.head();
    const int wait_ms = number_in("DAMARIS_RECORDING_WAIT_MS");
    head.version = trace::kPoolVersion;
    head.server = ::getpid();
    head.server_start = start_time_of(::getpid());
    head.wait_ms = wait_ms > 0 ? static_cast<std::uint32_t>(wait_ms) : 5000;
    std::memcpy(head.magic, trace::kPoolMagic, sizeof head.magic);
    if (!say("r")) ::_exit(0);  // who started it has given up, and taken the pool away
    ::close(std::exchange(ready, -1));
    if (server.run()) {
      ::unlink(path.c_str());
      trace::ring(head.ended);
    }
  } catch (const Error& error) {
    say(error.sentence());
  } catch (const std::exception& error) {
    say(error.what());
  }
  ::_exit(0);
}

// It belongs to no process of the job: who ends those leaves it, and it ends when they are dead.
[[noreturn]] void detach_and_serve(const trace::Pool& pool, const std::string& path, const std::string& raw, int files, int ready) {
  ::setsid();
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  if (::fork() != 0) ::_exit(0);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
  ready = ::dup2(ready, 3);
  if (::syscall(SYS_close_range, 4, ~0u, 0) != 0)
    for (int open = 4; open < 1024; ++open) ::close(open);
  if (::chdir("/") != 0) ::_exit(1);
  serve(pool, path, raw, files, ready);
}

// Returns when the server serves.
void start_server(const trace::Pool& pool, const std::string& path, const std::string& raw, int files) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("make a pipe", errno);
  File from(ends[0]), to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) fail("start the server", errno);
  if (child == 0) detach_and_serve(pool, path, raw, files, to.get());
  to.close();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  pollfd look = {from.get(), POLLIN, 0};
  char text[1024];
  const ssize_t got = ::poll(&look, 1, kStart_ms) > 0 ? ::read(from.get(), text, sizeof text) : 0;
  if (got <= 0) throw Error(DC_E_TIMEOUT, "the server does not start");
  if (text[0] != 'r' || got != 1) throw Error(DC_E_IO, std::string(text, static_cast<std::size_t>(got)));
}

// What a server that was killed has left stays for unify under another name.
void put_aside(const std::string& path, const trace::Pool& pool) {
  if (::rename(path.c_str(), format("{}.{}", path, pool.head().server_start).c_str()) != 0) fail("put '" + path + "' aside", errno);
}

}  // namespace

std::string join_pool(const std::string& raw, const std::string& id, const PoolOptions& options) {
  const std::string path = "/dev/shm/damaris-recording-" + id;
  for (int tries = 0; tries < 3; ++tries) {
    const File file(locked(path));
    struct stat facts = {};
    if (::fstat(file.get(), &facts) != 0) fail("look at the pool", errno);
    if (facts.st_size == 0) {
      try {
        const std::size_t chunks = make_room(file.get(), static_cast<std::size_t>(options.chunks) * processes_here() + kSpare);
        const trace::Pool pool = mapped(file.get(), trace::pool_bytes(chunks));
        pool.head().chunks = static_cast<std::uint32_t>(chunks);
        trace::enter(pool, ::getpid());  // a server without processes ends
        start_server(pool, path, raw, options.files);
        return path;
      } catch (...) {
        ::unlink(path.c_str());
        throw;
      }
    }
    const trace::Pool pool = mapped(file.get(), static_cast<std::size_t>(facts.st_size));
    const Entry entry = enter_for_server(pool);
    if (entry == Entry::made) return path;
    if (entry == Entry::server_dead) put_aside(path, pool);
  }
  throw Error(DC_E_TIMEOUT, "servers end as soon as they have begun");
}

}  // namespace damaris::record
