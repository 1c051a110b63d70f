// Pairs the calls of a process that made requests of MPI with those that completed them.
// Used by: kernel.cpp, once for each process.
// Before it: the slots `requested` and `completed`. After it: dt_requests, the messages of unify.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/kernel.h"
#include "trace/slot.hpp"

namespace damaris::trace {

// A slot about a request, and the call that it belongs to.
struct RequestSlot {
  std::size_t call;
  Slot slot;
};

// In the order in which they ended. A handle is used again once its request is completed; of several alive with the same handle, such as
// MPICH's one for all sends that are done at once, the first made is the first completed.
std::vector<dt_request> pair_requests(const std::vector<dt_call>& calls, std::vector<RequestSlot> slots);

}  // namespace damaris::trace
