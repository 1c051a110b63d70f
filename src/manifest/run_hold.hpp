// Only one run may write under a basename, as long as any process of it lives. Kept by locks in "<folder>/.<basename>.lock", which the kernel
// gives back when their process ends, and which another user can neither open nor take.
// Used by: the hdf5 plugin on the server's dispatch thread, by each process that adds to the manifest, from its start to its end.
// Before it: output_folder.hpp. After it: manifest_file.hpp begins the manifest, or joins it.
#pragma once

#include <damaris/error.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace damaris::manifest {

// Say that a run may not begin because of another one.
Error held_record(const std::string& path);
Error held_member(const std::string& path, const std::string& member);

class RunHold {
 public:
  // `run`: the same for all processes of a run, and for no other; `member`: what no other process of it is, as "host.s0".
  // `shared`: other processes of the run may hold it too. Waits up to `timeout` for another process that is starting.
  // `path`: the manifest. The first turn is the caller's: end_turn().
  // Throws damaris::Error(DC_E_NO_OUTPUT) while another run holds it, or this member of the run; Failure where the locks cannot be had.
  // A file system without locks keeps nobody out of a run of one process; one that is shared cannot begin there.
  RunHold(std::string path, std::string run, std::string member, bool shared, std::chrono::milliseconds timeout);
  ~RunHold();
  RunHold(const RunHold&) = delete;
  RunHold& operator=(const RunHold&) = delete;

  // No other process held it when this one came.
  bool is_first() const { return first_; }
  // No other process holds it now; then none can come any more until this one ends. To be asked in a turn.
  bool take_alone();
  // The file of the locks was removed, with its folder for instance: they keep nobody out any more.
  bool is_gone() const;

  // Of the processes that share the manifest only one has its turn. A turn within a turn is the same. Throws Failure when it does not come
  // within `timeout`.
  void take_turn();
  [[noreturn]] void throw_held() const;
  void end_turn();
  class Turn {
   public:
    explicit Turn(RunHold& hold) : hold_(hold) { hold_.take_turn(); }
    // One that the hold already has.
    Turn(RunHold& hold, std::adopt_lock_t) : hold_(hold) {}
    ~Turn() { hold_.end_turn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    RunHold& hold_;
  };

 private:
  void open();
  void close();
  bool has_descriptor() const;
  void join();
  int set(long byte, short type) const;
  bool wait_for(long byte, short type) const;

  std::string record_, path_, run_, member_;
  std::chrono::milliseconds timeout_;
  int descriptor_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;  // of the file behind it
  bool shared_, first_ = false;
  int turns_ = 0;  // that this process has, one in another
};

}  // namespace damaris::manifest
