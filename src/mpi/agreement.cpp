#include "mpi/agreement.hpp"

#include "mpi/mpi_call.hpp"

namespace damaris::mpi {
namespace {

std::string broadcast_from(MPI_Comm communicator, int root, std::string text) {
  auto length = static_cast<unsigned long long>(text.size());
  check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, communicator), "MPI_Bcast");
  text.resize(length);
  check(MPI_Bcast(text.data(), static_cast<int>(length), MPI_BYTE, root, communicator), "MPI_Bcast");
  return text;
}

}  // namespace

std::string broadcast(MPI_Comm communicator, const std::string& text) { return broadcast_from(communicator, 0, text); }

void all_or_none(MPI_Comm communicator, const std::function<void()>& step) {
  int code = DC_OK;
  std::string sentence;
  try {
    step();
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  } catch (const std::exception& error) {
    code = DC_E_INTERNAL;
    sentence = error.what();
  }
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  int mine = code == DC_OK ? size : rank;
  int first = size;
  check(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
  if (first == size) return;
  check(MPI_Bcast(&code, 1, MPI_INT, first, communicator), "MPI_Bcast");
  sentence = broadcast_from(communicator, first, sentence);
  throw Error(static_cast<dc_code>(code), first == rank ? sentence : format("rank {}: {}", first, sentence));
}

}  // namespace damaris::mpi
