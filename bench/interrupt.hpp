// An interrupt, or SIGTERM, ends a benchmark like an error: its servers, regions and folders go.
// Used by: main, before the first thread; the rounds of each benchmark ask through their Progress. A second one ends it at once.
#pragma once

#include <stdexcept>

namespace damaris::bench {

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted; nothing is left running") {}
};

void catch_interrupts();
bool was_interrupted();
// Throws Interrupted once one has come.
void stop_if_interrupted();

}  // namespace damaris::bench
