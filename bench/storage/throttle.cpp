#include "storage/throttle.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "core/base/error.hpp"

// The linker leads every pwrite of this program here (--wrap=pwrite).
extern "C" ssize_t __real_pwrite(int descriptor, const void* data, size_t size, off_t offset);
extern "C" ssize_t __wrap_pwrite(int descriptor, const void* data, size_t size, off_t offset);

namespace damaris::bench {
namespace {

// In memory that all processes share.
struct Queue {
  pthread_mutex_t mutex;
  Bottleneck bottleneck;
  double free_at = 0;  // monotonic seconds
  pid_t last = 0;
  double busy_s = 0;
  std::uint64_t bytes = 0;
};
Queue* the_queue = nullptr;

double now_s() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void sleep_until(double when_s) {
  const auto seconds = static_cast<time_t>(when_s);
  const timespec when = {seconds, static_cast<long>((when_s - static_cast<double>(seconds)) * 1e9)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

// When the request is served.
double take_turn(std::size_t size) {
  ::pthread_mutex_lock(&the_queue->mutex);
  Queue& queue = *the_queue;
  const pid_t me = ::getpid();
  const double cost = static_cast<double>(size) / queue.bottleneck.bytes_per_s + (queue.last == me ? 0 : queue.bottleneck.switch_s);
  const double now = now_s();
  queue.free_at = (queue.free_at > now ? queue.free_at : now) + cost;
  queue.last = me;
  queue.busy_s += cost;
  queue.bytes += size;
  const double served = queue.free_at;
  ::pthread_mutex_unlock(&the_queue->mutex);
  return served;
}

}  // namespace

Throttle::Throttle(const Bottleneck& bottleneck) {
  void* const memory = ::mmap(nullptr, sizeof(Queue), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(DC_E_MEMORY, "no memory for the bottleneck of the benchmark");
  the_queue = new (memory) Queue{};
  the_queue->bottleneck = bottleneck;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutex_init(&the_queue->mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

Throttle::~Throttle() {
  ::munmap(the_queue, sizeof(Queue));
  the_queue = nullptr;
}

double Throttle::busy_s() const { return the_queue->busy_s; }
std::uint64_t Throttle::bytes() const { return the_queue->bytes; }

}  // namespace damaris::bench

ssize_t __wrap_pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  using namespace damaris::bench;
  if (the_queue != nullptr) sleep_until(take_turn(size));
  return __real_pwrite(descriptor, data, size, offset);
}
