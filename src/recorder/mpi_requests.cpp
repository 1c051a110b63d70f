#include "recorder/mpi_requests.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "recorder/mpi_layer.hpp"
#include "recorder/real.hpp"

namespace damaris::recorder::mpi {
namespace {

struct Library {
  decltype(&PMPI_Get_count) get_count;
  decltype(&PMPI_Test_cancelled) test_cancelled;
  MPI_Request null;
  MPI_Datatype byte;
};
Library library;

std::uint64_t bytes_of(const MPI_Status& status) {
  int count = 0;
  if (library.get_count == nullptr || library.get_count(&status, library.byte, &count) != MPI_SUCCESS) return 0;
  return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

void completed(const Call& call, MPI_Request request, const MPI_Status& status) {
  if (request == library.null) return;
  int is_cancelled = 0;
  if (library.test_cancelled != nullptr) library.test_cancelled(&status, &is_cancelled);
  const std::int64_t place = trace::message(status.MPI_SOURCE, status.MPI_TAG);
  call.add(trace::completed, key(request), bytes_of(status), place, is_cancelled != 0 ? trace::cancelled : 0);
}

}  // namespace

void meet_requests(const void* function) {
  find(function, "PMPI_Get_count", library.get_count);
  find(function, "PMPI_Test_cancelled", library.test_cancelled);
#ifdef OPEN_MPI
  find_handle(function, "ompi_request_null", library.null);
  find_handle(function, "ompi_mpi_byte", library.byte);
#else
  library.null = MPI_REQUEST_NULL;
  library.byte = MPI_BYTE;
#endif
}

void started(const Call& call, MPI_Request request) {
  if (request != library.null) call.add(trace::requested, key(request), 0, trace::kNowhere, 0);
}

void received_too(const Call& call, const MPI_Status& status) {
  call.add(trace::completed, 0, bytes_of(status), trace::message(status.MPI_SOURCE, status.MPI_TAG), trace::half);
}

Waiting::Waiting(bool recorded, int count, const MPI_Request* requests) {
  if (!recorded || count <= 0 || requests == nullptr) return;
  const auto number = static_cast<std::size_t>(count);
  if (count > kFew) {
    requests_ = static_cast<MPI_Request*>(std::malloc(number * sizeof(MPI_Request)));
    statuses_ = static_cast<MPI_Status*>(std::malloc(number * sizeof(MPI_Status)));
  }
  if (requests_ != nullptr) std::memcpy(requests_, requests, number * sizeof(MPI_Request));
  if (requests_ != nullptr && statuses_ != nullptr) count_ = count;
}

Waiting::~Waiting() {
  if (requests_ != few_) std::free(requests_);
  if (statuses_ != few_statuses_) std::free(statuses_);
}

void Waiting::one(const Call& call, int index, const MPI_Status* status) const {
  if (index >= 0 && index < count_) completed(call, requests_[index], *status);
}

void Waiting::all(const Call& call, const MPI_Status* statuses) const {
  for (int i = 0; statuses != nullptr && i < count_; ++i) completed(call, requests_[i], statuses[i]);
}

void Waiting::some(const Call& call, int number, const int* indices, const MPI_Status* statuses) const {
  for (int i = 0; i < std::min(number, count_); ++i) one(call, indices[i], &statuses[i]);
}

void Waiting::released(const Call& call) const {
  if (count_ > 0 && requests_[0] != library.null)
    call.add(trace::completed, key(requests_[0]), 0, trace::kNowhere, trace::released);
}

}  // namespace damaris::recorder::mpi
