// The places in the code under test that access shared memory atomically, and an order at one of them made weaker.
// Used by: tsan_hooks.cpp; test/mutate/orders.py, through the environment of the test.
// Before it: an access. After it: the explorer, with the order that counts.
//
// MODEL_SITES=FILE     writes a line for each place that was reached: offset in the program, kind, order
// MODEL_WEAKEN=ORDER:OFFSET[,OFFSET...]   the accesses at these offsets have this order instead; all in hexadecimal
#pragma once

#include "model/hooks.hpp"

namespace damaris::explorer {

enum class Kind { load, store, update };

// The order of the access that returns to `caller`.
Order order_at(const void* caller, Kind kind, int order);

}  // namespace damaris::explorer
