// What a run is: one way of writing, its sizes and its places.
// Used by: every rank, at its start.
// Before it: the command line, the same on all ranks. After it: the grid, the way, the phases.
#pragma once

#include <cstdint>
#include <string>

namespace damaris::bench {

struct Options {
  std::string way;
  std::uint64_t bytes = 0;  // of each process, were all of them to compute
  int phases = 0;
  double compute_s = 0;        // processor time of a process and phase, were all of them to compute
  std::uint64_t transfer = 0;  // bytes of a write call; 0: a whole field
  std::uint64_t chunk = 0;     // bytes of a chunk of file-per-process-deflate
  std::uint64_t stripe = 0;    // striping_unit of MPI-IO; 0: as the file system has it
  int groups = 1;              // files of grouped, writers of one-writer, dedicated cores of damaris
  bool sync = false;           // the file ways: a phase ends when its files are durable
  std::string fields;          // HDF5 file with the values; "": generated ones
  std::string folder;          // where the run writes
  std::string results;         // where the ranks tell what they measured

  bool dedicated() const { return way == "damaris" || way == "damaris-deflate"; }
};

// Whether `--ways` was all that was asked; then it prints the ways that are built in. Before MPI starts.
bool tell_ways(int argc, char** argv);

// Returns an exit status, or -1 when the run can begin. Prints help and complaints on the rank that `speaks`.
int parse(int argc, char** argv, bool speaks, Options& options);

}  // namespace damaris::bench
