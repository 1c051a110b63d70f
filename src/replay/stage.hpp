// What the threads of a replay share: who has come to which message or collective, whether one has failed, what was measured.
// Used by: player.cpp, and the threads of worker.cpp.
// Before it: a plan. After it: the result.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "replay/contents.hpp"
#include "replay/event.hpp"
#include "replay/player.hpp"

namespace damaris::replay {

struct Meeting {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint64_t> latest{0};
  Event met;
};

struct Stage {
  Stage(const Plan& the_plan, const PlayFolder& the_folder);

  // The first one is kept, and stops all.
  void fail(const std::string& sentence);

  const Plan& plan;
  const PlayFolder& folder;
  const Contents contents;
  std::unique_ptr<Event[]> posted, awaited;  // of each message
  std::unique_ptr<Meeting[]> meetings;       // of each collective
  std::unique_ptr<Event[]> passed;           // of each member, for scans
  std::uint64_t spin_ns = 0;
  std::uint64_t start = 0;  // of CLOCK_MONOTONIC; written before `begun`
  Event begun;
  Word running{0};  // threads that have not ended
  std::atomic<bool> stopped{false};
  std::atomic<std::uint64_t> short_reads{0};
  std::atomic<std::uint64_t> last{0};  // when the last process was done
  std::mutex mutex;
  std::string failure;
  Played result;
};

}  // namespace damaris::replay
