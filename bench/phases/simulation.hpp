// The simulation: compute, copy, write, phase after phase.
// Used by: every computing rank.
// Before it: a way, fields. After it: what each phase took, for the rank's record.
#pragma once

#include <mpi.h>

#include <vector>

#include "phases/options.hpp"
#include "phases/way.hpp"

namespace damaris::bench {

// From begin to end, of CLOCK_MONOTONIC in s.
struct Span {
  double begin = 0;
  double end = 0;
};

struct PhaseTimes {
  Span compute;
  Span write;
  double memcpy_s = 0;
  double cpu_s = 0;  // processor time of the write phase, all threads
};

double monotonic_s();

// `compute_s`: processor time of a phase. Collective over `processes`.
std::vector<PhaseTimes> simulate(int phases, double compute_s, Fields& fields, Way& way, MPI_Comm processes);

}  // namespace damaris::bench
