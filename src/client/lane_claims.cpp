#include "client/lane_claims.hpp"

#include <pthread.h>

#include <algorithm>
#include <new>

#include "core/base/error.hpp"

namespace damaris::client {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

// The lanes that one thread has claimed, of all clients of the process. Stored under a pthread key, not in a thread_local object:
// destructors of thread_local objects may still call Damaris. The key's destructor runs after them, and again if a later destructor
// claims a lane.
class ThreadLanes {
 public:
  static ThreadLanes* of_thread() { return static_cast<ThreadLanes*>(::pthread_getspecific(key())); }
  static ThreadLanes& make() {
    if (ThreadLanes* known = of_thread()) return *known;
    auto made = std::make_unique<ThreadLanes>();
    if (::pthread_setspecific(key(), made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }
  ~ThreadLanes() {
    for (const Place& place : places_) give_back_lane((*place.flags)[place.lane]);
    LaneClaims::cached = {};
  }
  std::optional<std::uint32_t> find(std::uint64_t claims) const {
    for (const Place& place : places_)
      if (place.claims == claims) return place.lane;
    return std::nullopt;
  }
  // Allocates first, so that a claimed lane is always recorded.
  std::optional<std::uint32_t> claim(std::uint64_t claims, const std::shared_ptr<LaneClaims::Flags>& flags) {
    places_.erase(std::remove_if(places_.begin(), places_.end(), [](const Place& place) { return place.flags.use_count() == 1; }),
                  places_.end());
    places_.reserve(places_.size() + 1);
    for (std::uint32_t lane = 0; lane < flags->size(); ++lane) {
      if (!try_take_lane((*flags)[lane])) continue;
      places_.push_back({claims, lane, flags});
      return lane;
    }
    return std::nullopt;
  }

 private:
  struct Place {
    std::uint64_t claims;
    std::uint32_t lane;
    std::shared_ptr<LaneClaims::Flags> flags;
  };

  static pthread_key_t key() {
    static const pthread_key_t made = [] {
      pthread_key_t key = 0;
      if (::pthread_key_create(&key, [](void* lanes) { delete static_cast<ThreadLanes*>(lanes); }) != 0)
        throw Error(DC_E_MEMORY, "the process has no thread-specific key left (pthread_key_create), of which Damaris needs one");
      return key;
    }();
    return made;
  }

  std::vector<Place> places_;
};

LaneClaims::LaneClaims(std::uint32_t lanes) : flags_(std::make_shared<Flags>(lanes)), id_(next_id()) {}

std::optional<std::uint32_t> LaneClaims::current() const {
  if (cached.claims == id_) return cached.lane;
  const ThreadLanes* lanes = ThreadLanes::of_thread();
  return lanes == nullptr ? std::nullopt : lanes->find(id_);
}

bool LaneClaims::claim_one() {
  ThreadLanes& lanes = ThreadLanes::make();
  std::optional<std::uint32_t> lane = lanes.find(id_);
  if (!lane) lane = lanes.claim(id_, flags_);
  if (lane) cached = {id_, *lane};
  return lane.has_value();
}

}  // namespace damaris::client
