// What a plan takes when its outputs are written in another way.
// Used by: damaris-replay, one thread.
// Before it: replays of outputs.hpp. After it: standard output, JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.hpp"
#include "replay/outputs.hpp"
#include "replay/player.hpp"

namespace damaris::replay {

struct WaySetting {
  Way way = Way::dedicated;
  std::string folder;              // of the user
  std::uint32_t cores = 0;         // of each node that are servers
  std::uint32_t servers = 0;       // of all nodes
  std::uint64_t buffer_bytes = 0;  // of each server
  double stretch = 1;
};

class WayReport {
 public:
  // Both must outlive it. `planned_ns`: what the plan takes as it is.
  WayReport(WaySetting setting, const Outputs& outputs, std::uint64_t planned_ns)
      : setting_(std::move(setting)), outputs_(outputs), planned_ns_(planned_ns) {}

  // `stored_s`: seconds for which all servers stored.
  void add(const Played& played, double stored_s);
  std::string text() const;
  Json json() const;

 private:
  std::vector<std::string> notes() const;

  const WaySetting setting_;
  const Outputs& outputs_;
  const std::uint64_t planned_ns_;
  std::vector<double> totals_, done_, mean_io_, most_io_, stored_;  // seconds, of each repetition
};

}  // namespace damaris::replay
