#include "mpi/agreement.hpp"

#include "core/base/error.hpp"
#include "mpi/mpi_call.hpp"

namespace damaris::mpi {
namespace {

struct FailedRanks {
  int first = -1;  // lowest rank that failed, -1: none
  bool all = false;
};

FailedRanks failed_ranks(MPI_Comm communicator, bool failed) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const int mine[2] = {failed ? rank : size, failed ? 1 : 0};
  int least[2] = {};
  check(MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
  return {least[0] == size ? -1 : least[0], least[1] == 1};
}

}  // namespace

std::string broadcast(MPI_Comm communicator, std::string text, int root) {
  auto length = static_cast<unsigned long long>(text.size());
  check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, communicator), "MPI_Bcast");
  text.resize(length);
  check(MPI_Bcast(text.data(), static_cast<int>(length), MPI_BYTE, root, communicator), "MPI_Bcast");
  return text;
}

void all_or_none(MPI_Comm communicator, const std::function<void()>& step) {
  Status outcome = outcome_of(step);
  const FailedRanks failures = failed_ranks(communicator, outcome.code != DC_OK);
  if (failures.first < 0) return;
  check(MPI_Bcast(&outcome.code, 1, MPI_INT, failures.first, communicator), "MPI_Bcast");
  const std::string sentence = broadcast(communicator, outcome.message, failures.first);
  throw Error(static_cast<dc_code>(outcome.code), failures.all ? sentence : format("rank {}: {}", failures.first, sentence));
}

void rank_0_or_none(MPI_Comm communicator, const std::function<void()>& step) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  Status outcome = rank == 0 ? outcome_of(step) : Status{};
  check(MPI_Bcast(&outcome.code, 1, MPI_INT, 0, communicator), "MPI_Bcast");
  if (outcome.code != DC_OK) throw Error(static_cast<dc_code>(outcome.code), broadcast(communicator, outcome.message));
}

}  // namespace damaris::mpi
