// Ensures that only one run at a time writes under a basename, with locks on "<folder>/.<basename>.lock". The kernel releases them
// when their process ends; other users can neither open nor lock the file.
// Used by: the hdf5 plugin on the server's work thread, in each process that adds to the manifest, from its start to its end;
// `damaris verify` looks at the lock.
// Before it: output_folder.hpp. After it: manifest_file.hpp begins the manifest, or joins it.
#pragma once

#include <damaris/error.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/base/own_file.hpp"

namespace damaris::manifest {

// The errors for a run that cannot begin because of another one.
Error locked_by_other_run(const std::string& path);
Error locked_by_same_member(const std::string& path, const std::string& member);

// Whether a run holds the lock of the manifest's basename; unknown where the file system has no locks, or the lock is another user's.
enum class Running { no, yes, unknown };
Running is_running(const std::string& record);

class RunLock {
 public:
  // `path`: the manifest. `run`: identifies the run, common to all of its processes; `member`: identifies the process within the
  // run, such as "host.s0". `shared`: other processes of the run may lock the basename too. Waits up to `timeout` for another
  // process that is starting. The exclusive lock is held on return: call unlock().
  // Throws damaris::Error(DC_E_NO_OUTPUT) if another run, or a process with the same member, holds the lock; Failure if locking
  // fails. On a file system without locks a run of one process is not protected, and a shared run cannot begin.
  RunLock(std::string path, std::string run, std::string member, bool shared, std::chrono::milliseconds timeout);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // No other process had the basename locked when this one locked it.
  bool is_first() const { return first_; }
  // Returns whether no other process has the basename locked; then none can lock it until this one ends. Requires lock().
  bool take_alone();
  // Whether the locks are void: the lock file was removed, for instance with its folder. Throws Failure if the file system does not say so.
  bool is_gone() const;

  // Locks the manifest against the other processes that share it; recursive. Throws Failure if that takes longer than `timeout`.
  void lock();
  // From now on, instead of `timeout`.
  void wait_at_most(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  [[noreturn]] void throw_locked() const;
  void unlock();
  class Guard {
   public:
    explicit Guard(RunLock& run_lock) : lock_(run_lock) { lock_.lock(); }
    // Adopts a lock that is already held.
    Guard(RunLock& run_lock, std::adopt_lock_t) : lock_(run_lock) {}
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    RunLock& lock_;
  };

 private:
  void open();
  void open_file();
  void close();
  enum class Look { fine, gone, refused };  // refused: errno says why
  Look looks() const;
  void join();
  // Returns 0, or -1 with errno.
  int set(long byte, short type) const;
  bool try_lock(long byte, short type) const;
  bool wait_for(long byte, short type) const;

  std::string record_, path_, run_, member_;
  std::chrono::milliseconds timeout_;
  int descriptor_ = -1;
  FileIdentity identity_;
  bool has_name_ = false;  // the path shows that file's device and inode number
  bool shared_, first_ = false;
  int depth_ = 0;  // depth of the recursive lock
};

}  // namespace damaris::manifest
