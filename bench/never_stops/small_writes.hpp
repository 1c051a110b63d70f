// What a write of 64 B costs beyond its memcpy while the server sleeps, polls, or compresses an earlier step, and by name.
// Used by: bench never-stops, one thread.
// Before it: a folder. After it: four rows of the report.
#pragma once

#include "folder.hpp"
#include "report.hpp"

namespace damaris::bench {

// The calling thread is pinned already.
void measure_small_writes(bool quick, const Folder& folder, Report& report);

}  // namespace damaris::bench
