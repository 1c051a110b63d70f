/* A storage that takes only so many bytes a second of all processes of a run together, or that keeps what is closed: to be preloaded.
 * Used by: every process of a run of bench cm1 or bench phases, and the server of bench never-stops, in any thread that writes.
 * Before it: write, pwrite, writev, pwritev, close of files below $DAMARIS_BENCH_UNDER. After it: the real call, once the bytes had their
 * turn; with $DAMARIS_BENCH_SYNC a close syncs first.
 *
 * $DAMARIS_BENCH_RATE: bytes per second. $DAMARIS_BENCH_QUEUE: a file of 24 zero bytes, which all map: when the queue is empty again, in ns of
 * CLOCK_MONOTONIC, how many bytes have passed it, and the rate from now on in place of the first one, or 0. Who moves the first number ahead
 * makes the storage hang. Who waits takes no processor time, as with a storage at the end of a network.
 * A write ends kAheadNs before its bytes are through: a sleep is 50 us too long, and with many small writes the queue would stand empty meanwhile.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct queue {
  _Atomic int64_t free_at_ns;
  _Atomic uint64_t bytes;
  _Atomic uint64_t rate;
};

static const int64_t kAheadNs = 1000000;
static const size_t kPiece = 256 << 10; /* so that a small write is not behind all of a large one */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct queue* queue;
static const char* under;
static double bytes_per_s;
static int syncs;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void begin(void) {
  const char* path = getenv("DAMARIS_BENCH_QUEUE");
  const char* rate = getenv("DAMARIS_BENCH_RATE");
  under = getenv("DAMARIS_BENCH_UNDER");
  syncs = getenv("DAMARIS_BENCH_SYNC") != NULL;
  if (path == NULL || rate == NULL || under == NULL) return;
  bytes_per_s = strtod(rate, NULL);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || bytes_per_s <= 0) return;
  void* memory = mmap(NULL, sizeof(struct queue), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) queue = memory;
  REAL(close)(file); /* ours would wait for this function */
}

static int is_meant(int file) {
  char link[64], path[PATH_MAX];
  struct stat facts;
  pthread_once(&once, begin);
  if (under == NULL || fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return strncmp(path, under, strlen(under)) == 0;
}

static void pass(size_t bytes) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  const uint64_t rate = atomic_load(&queue->rate);
  const int64_t cost = (int64_t)((double)bytes / (rate > 0 ? (double)rate : bytes_per_s) * 1e9);
  int64_t free_at = atomic_load(&queue->free_at_ns), served;
  do served = (free_at > now ? free_at : now) + cost;
  while (!atomic_compare_exchange_weak(&queue->free_at_ns, &free_at, served));
  atomic_fetch_add(&queue->bytes, bytes);
  const int64_t end = served - kAheadNs;
  const struct timespec until = {end / 1000000000, end % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

/* Piece by piece, each behind what others have asked for meanwhile. Leaves errno as it was. */
static void wait_for_turn(int file, size_t bytes) {
  const int before = errno;
  if (bytes > 0 && is_meant(file) && queue != NULL)
    for (size_t piece; bytes > 0; bytes -= piece) pass(piece = bytes < kPiece ? bytes : kPiece);
  errno = before;
}

static size_t bytes_of(const struct iovec* parts, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

ssize_t write(int file, const void* data, size_t bytes) {
  wait_for_turn(file, bytes);
  return REAL(write)(file, data, bytes);
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  wait_for_turn(file, bytes);
  return REAL(pwrite)(file, data, bytes, offset);
}

ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  wait_for_turn(file, bytes);
  return REAL(pwrite64)(file, data, bytes, offset);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  wait_for_turn(file, bytes_of(parts, count));
  return REAL(writev)(file, parts, count);
}

ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
  wait_for_turn(file, bytes_of(parts, count));
  return REAL(pwritev)(file, parts, count, offset);
}

ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t offset) {
  wait_for_turn(file, bytes_of(parts, count));
  return REAL(pwritev64)(file, parts, count, offset);
}

int close(int file) {
  const int before = errno, failed = is_meant(file) && syncs && fsync(file) != 0 ? errno : 0;
  errno = before;
  const int result = REAL(close)(file);
  if (failed != 0) errno = failed;
  return failed != 0 ? -1 : result;
}

/* Plugins have a symbol scope of their own, in which these functions would not be found. */
void* dlopen(const char* name, int flags) { return REAL(dlopen)(name, flags & ~RTLD_DEEPBIND); }
