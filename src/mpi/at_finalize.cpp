#include "mpi/at_finalize.hpp"

#include "api/guard.hpp"
#include "api/session.hpp"
#include "core/base/log.hpp"
#include "mpi/mpi_call.hpp"

namespace damaris::mpi {
namespace {

int end_session() {
  if (api::session() == nullptr || !api::session()->is_own()) return DC_OK;
  log_line(LogLevel::warning, "the program calls MPI_Finalize without dc_finalize: done for it, and what it would return is lost");
  const int code = api::guard([] {
    const Status report = api::session()->finalize();
    if (report.code != DC_OK) log_line(LogLevel::error, report.message);
    return DC_OK;
  });
  api::set_session(nullptr);
  return code;
}

extern "C" int damaris_mpi_at_finalize(MPI_Comm, int, void*, void*) {
  (void)api::guard(end_session);
  return MPI_SUCCESS;
}

}  // namespace

void finalize_before_mpi() {
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID)
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, damaris_mpi_at_finalize, &key, nullptr), "MPI_Comm_create_keyval");
  int there = 0;
  void* value = nullptr;
  check(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &there), "MPI_Comm_get_attr");
  if (there == 0) check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

}  // namespace damaris::mpi
