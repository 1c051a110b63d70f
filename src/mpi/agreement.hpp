// All or none: a failure of one rank at start-up becomes the same failure on every rank, so that no rank waits for one that has given up.
// Used by: every rank, during dc_mpi_initialize only. Collective over the communicator.
#pragma once

#include <mpi.h>

#include <exception>
#include <functional>
#include <string>

#include "core/base/error.hpp"

namespace damaris::mpi {

// Runs `step` on every rank, then tells all ranks of `communicator`. Throws the same error on every rank: that of the lowest rank
// that failed, opened with "rank N: " unless all failed. `step` must not call collectively over `communicator`.
void all_or_none(MPI_Comm communicator, const std::function<void()>& step);

// Runs `step` on rank 0 alone; its error is thrown on every rank.
void rank_0_or_none(MPI_Comm communicator, const std::function<void()>& step);

// Sends `text` of rank `root` to all.
std::string broadcast(MPI_Comm communicator, std::string text, int root = 0);

}  // namespace damaris::mpi
