// Outputs as shared files, written by collective calls of MPI-IO.
// Used by: each rank of a replay, its one thread.
// Before it: a rank of its process in the plan. After it: MPI-IO.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "replay/outlet.hpp"
#include "replay/outputs.hpp"

namespace damaris::replay {

class CollectiveFiles : public Outlet {
 public:
  // Collective over `world`, whose ranks are the processes of the plan in its order. Files are in `folder`.
  CollectiveFiles(const Outputs& outputs, const std::string& folder, MPI_Comm world);
  ~CollectiveFiles() override;
  CollectiveFiles(const CollectiveFiles&) = delete;
  CollectiveFiles& operator=(const CollectiveFiles&) = delete;

  std::string call(const Operation& one, std::uint32_t output, const void* data) override;
  std::string finish() override { return ""; }

 private:
  const Outputs& outputs_;
  const std::string folder_;
  std::vector<MPI_Comm> writers_;  // of each output, MPI_COMM_NULL without this rank; several have the same
  std::vector<MPI_Comm> owned_;
  std::uint64_t reach_ = 0;  // of this rank's writes in the file that is open
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace damaris::replay
