// Agreement on failures: an error on one rank at start-up is thrown on every rank, so that no rank waits for one that has failed.
// Used by: every rank, during dc_mpi_initialize only. Collective over the communicator.
#pragma once

#include <mpi.h>

#include <exception>
#include <functional>
#include <string>

#include "core/base/error.hpp"

namespace damaris::mpi {

// Runs `step` on every rank of `communicator`. If it fails on any, throws the same error on every rank: that of the lowest failed rank,
// with the prefix "rank N: " unless all failed. `step` must not make collective calls over `communicator`.
void all_or_none(MPI_Comm communicator, const std::function<void()>& step);

// Runs `step` on rank 0 only; throws its error on every rank.
void rank_0_or_none(MPI_Comm communicator, const std::function<void()>& step);

// Broadcasts `text` of rank `root`; returns it on every rank.
std::string broadcast(MPI_Comm communicator, std::string text, int root = 0);

}  // namespace damaris::mpi
