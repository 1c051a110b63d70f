// The objects of the layers mpi and mpiio, communicators and files, and what is asked of the MPI library of the process.
// Used by: their generated wrappers, any thread, which is quiet. Only functions that MPI allows at any time, and no symbol of it: the
// recorder is linked with none.
// Before it: a call has returned. After it: objects, bytes, places.
#pragma once

#include <mpi.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "recorder/real.hpp"

namespace damaris::recorder::mpi {

template <class Handle>
std::uint64_t key(Handle handle) {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

// OpenMPI's handles are addresses of variables, which the program may have copies of: the loader says which count.
template <class Handle>
void find_handle(const void* beside, const char* name, Handle& handle) {
  void* const used = ::dlsym(RTLD_DEFAULT, name);
  void* const found = used != nullptr ? used : find_beside(beside, name);
  std::memcpy(&handle, &found, sizeof handle);
}

// `function`: a real one of the library, by which the others are found.
void meet(const void* function);

std::uint32_t of_comm(MPI_Comm comm);
// Of a communicator that members of `parent` have just made. All call such functions in the same order, so its ordinal and its first
// member identify it in all processes, without a message.
std::uint32_t made(MPI_Comm parent, MPI_Comm comm);
// Of one that will be freed.
std::uint32_t left(MPI_Comm comm);

std::uint32_t opened(const char* name, MPI_File file);
std::uint32_t of_file(MPI_File file);
std::uint32_t left_file(MPI_File file);
// The byte of the file at an offset of its view, and at the file pointer.
std::int64_t place(MPI_File file, MPI_Offset offset);
std::int64_t position(MPI_File file);

std::uint64_t bytes(int count, MPI_Datatype type);
// 0 for MPI_IN_PLACE.
std::uint64_t sent(const void* buffer, int count, MPI_Datatype type);
std::uint64_t sum(const void* buffer, const int* counts, MPI_Datatype type, std::uint64_t number);
std::uint64_t size(MPI_Comm comm);
// How many processes it sends to in an all-to-all: of two groups those of the other one.
std::uint64_t partners(MPI_Comm comm);
// What a status counts, of a call with this result.
std::uint64_t received(const MPI_Status* status, MPI_Datatype type, int result);

// --flush-together: whether this collective call is one at which all processes agree on a flush; `function` as of meet(). Every process takes
// part, also one that records nothing: the others wait for it.
bool counts_together(const void* function, MPI_Comm comm);
void flush_together();

}  // namespace damaris::recorder::mpi
