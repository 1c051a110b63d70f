// Which object a handle of a library stands for: a communicator, a file of MPI, an identifier of HDF5.
// Used by: the layers above posix, any thread.
// Before it: a call that opened something. After it: the object of the calls on it.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <unordered_map>

namespace damaris::recorder {

// Of what is known by a name (FNV-1a).
inline std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 14695981039346656037u;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211u;
  return hash;
}

template <class Object = std::uint32_t>
class Handles {
 public:
  // Object() if it is not known.
  Object get(std::uint64_t handle) {
    const Locked locked(lock_);
    const auto found = objects().find(handle);
    return found == objects().end() ? Object() : found->second;
  }
  Object put(std::uint64_t handle, Object object) {
    const Locked locked(lock_);
    return objects()[handle] = object;
  }
  void remove(std::uint64_t handle) {
    const Locked locked(lock_);
    objects().erase(handle);
  }
  // In the child after a fork, where another thread may have held the lock.
  void forget() {
    lock_ = PTHREAD_MUTEX_INITIALIZER;
    objects_ = nullptr;
  }

 private:
  using Objects = std::unordered_map<std::uint64_t, Object>;
  struct Locked {
    explicit Locked(pthread_mutex_t& lock) : lock_(lock) { ::pthread_mutex_lock(&lock_); }
    ~Locked() { ::pthread_mutex_unlock(&lock_); }
    pthread_mutex_t& lock_;
  };
  // Made at its first use and never destroyed: programs make calls until their end.
  Objects& objects() {
    if (objects_ == nullptr) objects_ = new Objects;
    return *objects_;
  }
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  Objects* objects_ = nullptr;
};

}  // namespace damaris::recorder
