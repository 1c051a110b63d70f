// What the threads of a replay share: who has come to which message or collective, whether one has failed, what was measured.
// Used by: player.cpp, and the threads of worker.cpp. They may be in several processes of this machine, each with a Stage of its own.
// Before it: a plan. After it: the result.
#pragma once

#include <atomic>
#include <string>

#include "replay/contents.hpp"
#include "replay/event.hpp"
#include "replay/player.hpp"

namespace damaris::replay {

class Outlet;

struct Meeting {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint64_t> latest{0};
  Event met;
};

// In shared memory, which is zero at first.
struct Common {
  static constexpr std::size_t kFailureBytes = 4096;

  std::uint64_t spin_ns = 0;
  std::uint64_t start = 0;  // of CLOCK_MONOTONIC; written before `begun`
  Event begun;
  Word running{0};  // threads that have not ended
  Word ready{0};    // processes that have come to the start
  std::atomic<bool> stopped{false};
  std::atomic<bool> failed{false};
  std::atomic<std::uint64_t> short_reads{0};
  std::atomic<std::uint64_t> last{0};  // when the last process was done
  char failure[kFailureBytes] = {};
};

class Stage {
 public:
  // With memory of its own, or with that of another process's Stage of the same plan, path() there.
  // Throws Error(DC_E_MEMORY) if there is not enough.
  Stage(const Plan& the_plan, const PlayFolder& the_folder, const std::string& other = "");
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  std::string path() const;
  // The first one is kept, and stops all.
  void fail(const std::string& sentence);
  // Once nobody plays any more. Throws Error(DC_E_IO) if one has failed, Error(DC_E_STOPPED) if somebody has stopped it.
  Played result() const;

  const Plan& plan;
  const PlayFolder& folder;
  const Contents contents;
  Outlet* outlet = nullptr;            // takes the operations on the plan's files from `first_output` on
  std::uint32_t first_output = kNone;  // index

 private:
  template <class Item>
  Item* next(std::size_t count);

  std::size_t used_ = 0;
  int descriptor_ = -1;
  char* memory_ = nullptr;  // first in the order of construction: what follows lies in it

 public:
  Common& common;
  Event *const posted, *const awaited;  // of each message
  Meeting* const meetings;              // of each collective
  Event* const passed;                  // of each member, for scans
  std::uint64_t* const ends;            // of each process, as in Played
  std::uint64_t *const io_ns, *const late;
};

// In a process that plays one process of the plan: waits until all have come, and does its operations.
void take_part(Stage& stage, std::uint32_t process);

}  // namespace damaris::replay
