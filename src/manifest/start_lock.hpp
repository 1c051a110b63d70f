// The lock file of a basename, "<folder>/.<stem>.lock": who holds it starts or ends a run alone. It says which run has begun, so that the
// other servers of that run find its generation.
// Used by: start.hpp, writer.hpp; any thread.
// Before it: output_folder.hpp. After it: the logs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "log_names.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {

inline constexpr std::chrono::milliseconds kLookEvery{5};  // at a file of another process

// The run that a process has begun under the basename.
struct Begun {
  std::string identity;
  LogName log;          // of the server that began it
  std::string refused;  // why it could not begin; "": it has
};

// What the lock file says; nothing if it says nothing whole. Does not wait for the lock.
std::optional<Begun> begun_in(const FileNames& names);

// An exclusive lock of the file until the end of this object.
class StartLock {
 public:
  // Throws Failure if it has no lock after `timeout`.
  StartLock(const FileNames& names, std::chrono::milliseconds timeout);
  ~StartLock();
  StartLock(const StartLock&) = delete;
  StartLock& operator=(const StartLock&) = delete;

  bool has_locks() const { return has_locks_; }  // else the file system has none
  std::optional<Begun> begun() const;
  // Throws Failure.
  void name(const Begun& begun) const;
  // Removes the file, unless it names another run.
  void forget(const std::string& identity) const;

 private:
  bool try_lock();

  std::string path_;
  int descriptor_ = -1;
  bool has_locks_ = false;
};

}  // namespace damaris::manifest
