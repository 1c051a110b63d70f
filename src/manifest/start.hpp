// The start of a server's log: which run of the basename it belongs to. The first server of a run begins it, with the next generation, and
// names it in the lock file of the basename, "<folder>/.<stem>.lock"; the others find it there. Who holds its lock starts or ends a run alone.
// Used by: writer.hpp, on the server's work thread.
// Before it: output_folder.hpp. After it: the log, to which writer.hpp adds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "entries.hpp"
#include "log.hpp"
#include "output_folder.hpp"

namespace damaris::manifest {

inline constexpr std::chrono::milliseconds kLookEvery{5};  // at a file of another process

// The run that a process has begun under the basename.
struct Begun {
  std::string identity;
  LogName log;          // of the server that began it
  std::string refused;  // why it could not begin; "": it has
};

// An exclusive lock of the file until the end of this object.
class StartLock {
 public:
  // Throws Failure if it has no lock after `timeout`.
  StartLock(const FileNames& names, std::chrono::milliseconds timeout);
  ~StartLock();
  StartLock(const StartLock&) = delete;
  StartLock& operator=(const StartLock&) = delete;

  bool has_locks() const { return has_locks_; }  // else the file system has none
  // What the file says; nothing if it says nothing whole.
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

// What happens to an earlier run of the same basename.
enum class Existing {
  automatic,  // as overwrite if the last run has ended; else the start fails
  overwrite,  // its files are removed when this run stores its first step
  refuse,     // the start fails
  recover,    // it is this run: recovery adds the steps of its dead server. Not in the XML
  append      // it stays, except for steps from the first one that this run stores
};

struct Started {
  std::unique_ptr<Log> log;
  LogName name;
  bool began = false;      // the run
  bool came_back = false;  // this server into it
  bool follows = false;    // a run of the same processes that has ended
};

// `run`: its identity is the same in all processes of the run. `own`: host and index of this server. `waits`: another server begins the run;
// else this one does, unless it is there. Waits up to `timeout` for other processes that start.
// Throws damaris::Error(DC_E_NO_OUTPUT) if an earlier run is in the way, or another one goes on, or the run has begun nowhere; Failure.
Started start(const FileNames& names, const RunEntry& run, LogName own, Existing existing, bool waits,
              std::chrono::milliseconds timeout);

// The log of the dead server whose regions `run` names, to add to. Throws damaris::Error(DC_E_NO_OUTPUT) if there is none, or the server
// lives; Failure.
Started start_recovery(const FileNames& names, const RunEntry& run, LogName own);

}  // namespace damaris::manifest
