// Checked MPI calls: a failure becomes an Error with MPI's own text.
// Used by: src/mpi only.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/process.hpp"

namespace damaris::mpi {

inline void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(DC_E_INTERNAL, format("{} failed: {}", call, std::string(text, static_cast<std::size_t>(length))));
}

// Owns a communicator; the destructor frees it unless MPI has been finalized.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm handle) : handle_(handle) {}
  Communicator(Communicator&& other) noexcept : handle_(other.release()) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator() {
    if (!creator_.is_this_process()) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (handle_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&handle_);
  }

  static Communicator split(MPI_Comm parent, int color, int key) {
    MPI_Comm handle = MPI_COMM_NULL;
    check(MPI_Comm_split(parent, color, key, &handle), "MPI_Comm_split");
    return Communicator(handle);
  }
  static Communicator duplicate(MPI_Comm parent) {
    MPI_Comm handle = MPI_COMM_NULL;
    check(MPI_Comm_dup(parent, &handle), "MPI_Comm_dup");
    return Communicator(handle);
  }

  MPI_Comm get() const noexcept { return handle_; }
  const MPI_Comm* address() const noexcept { return &handle_; }  // for plugins, as an opaque handle
  MPI_Comm release() noexcept { return std::exchange(handle_, MPI_COMM_NULL); }
  int rank() const {
    int rank = 0;
    check(MPI_Comm_rank(handle_, &rank), "MPI_Comm_rank");
    return rank;
  }
  int size() const {
    int size = 0;
    check(MPI_Comm_size(handle_, &size), "MPI_Comm_size");
    return size;
  }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
  CreatorProcess creator_;
};

}  // namespace damaris::mpi
