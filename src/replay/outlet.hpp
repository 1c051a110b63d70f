// Where a replay's writes go in place of the plan's files: MPI-IO, or the servers of Damaris.
// Used by: the thread of the one process of the plan that this process plays.
// Before it: operations on the outputs of outputs.hpp. After it: another library.
#pragma once

#include <cstdint>
#include <string>

#include "replay/plan.hpp"

namespace damaris::replay {

class Outlet {
 public:
  virtual ~Outlet() = default;

  // Opens, writes `data` of one.bytes, syncs or closes. Returns why not, "" after success.
  virtual std::string call(const Operation& one, std::uint32_t output, const void* data) = 0;
  // Behind the last operation: returns when all is stored, as call().
  virtual std::string finish() = 0;
};

}  // namespace damaris::replay
