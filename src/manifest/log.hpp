// The log of one server: what it has stored, a record a line. Only this server writes it, so it asks nobody; a record is durable when
// append() returns. Room for the next one is reserved ahead: a full disk refuses data, not what is said of them.
// Used by: the hdf5 plugin on the server's work thread, from its start to its end; `damaris recover` for a dead server.
// Before it: output_folder.hpp. After it: manifest.hpp reads it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json_fwd.hpp"
#include "entries.hpp"

namespace damaris::manifest {

class Log {
 public:
  // Creates the file, or opens the one that an earlier process of this server has left, without a last line that was cut off, and locks it:
  // the kernel drops the lock when this process ends. Throws Failure if that is not possible; damaris::Error(DC_E_NO_OUTPUT) if a living
  // process has it.
  explicit Log(std::string path);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  const std::string& path() const { return path_; }
  bool is_empty() const { return end_ == 0; }

  // Reserves room for the next record. Throws Failure if there is none; a file system that cannot reserve counts as having it.
  void reserve();
  // Adds an object, numbered and sealed. Throws Failure, and then nothing of it is there.
  void append(const Json& record);
  void append(const StepEntry& step);
  // Releases the reserved room.
  void end() noexcept;

 private:
  void find_end();
  void write(const std::string& object);
  void cut() noexcept;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t end_ = 0, reserved_ = 0;  // bytes
  std::uint64_t last_ = 0;                // number of the last record
  std::string facts_;                     // as last written out; later records refer to them
  std::uint64_t facts_in_ = 0;            // the number of that record
  bool is_torn_ = false;                  // beyond end_ there may be what a failed write or a killed process has left
};

// Sets the lock of a whole file (F_WRLCK) or drops it (F_UNLCK), without waiting. Returns 0, or errno.
int lock_file(int descriptor, short type);

// Whether a living process has the log open to write; unknown where the file system has no locks, or the log cannot be looked at.
enum class Holder { none, alive, unknown };
Holder holder_of(const std::string& path);

}  // namespace damaris::manifest
