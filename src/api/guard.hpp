// The guards of the C functions: they turn exceptions into codes.
// Used by: the C functions of libdamaris and libdamaris_mpi, and the end of a session inside MPI_Finalize; any thread of the simulation.
// Before it: a call of the simulation. After it: a code, and the message of dc_last_error.
#pragma once

#include <new>
#include <utility>

#include "api/session.hpp"
#include "core/base/error.hpp"
#include "core/base/process_guard.hpp"

namespace damaris::api {

// For the write path, which uses only integer arithmetic and guards the thread state itself where it waits.
template <class Call>
int guard_write(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return end_session_without_memory();
  } catch (...) {
    const Status thrown = thrown_status();
    return set_last_error(thrown.code, thrown.message);
  }
}

// For all other functions: also preserves the simulation's floating-point environment.
template <class Call>
int guard(Call&& call) noexcept {
  const ThreadStateGuard thread_state;
  return guard_write(std::forward<Call>(call));
}

}  // namespace damaris::api
