// The requests of MPI: which call made one, and which completed it.
// Used by: generated wrappers of the layers mpi and mpiio, any thread, which is quiet but for the constructor.
// Before it: a call that starts or waits. After it: slots `requested` and `completed` behind that of the call.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "recorder/call.hpp"

namespace damaris::recorder::mpi {

// Looks up what is asked of the library; `function`: a real one of it.
void meet_requests(const void* function);

void started(const Call& call, MPI_Request request);
// The message that a call received beside what it sent.
void received_too(const Call& call, const MPI_Status& status);

// What a call waits for, kept as the call sets completed requests to null.
class Waiting {
 public:
  Waiting(bool recorded, int count, const MPI_Request* requests);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  // As many as requests, for a program that wants none.
  MPI_Status* statuses() { return statuses_; }

  // Of the call's results: `index`, if it is one; `statuses` of all, nullptr for none; `number` of them, each with its index.
  void one(const Call& call, int index, const MPI_Status* status) const;
  void all(const Call& call, const MPI_Status* statuses) const;
  void some(const Call& call, int number, const int* indices, const MPI_Status* statuses) const;
  void released(const Call& call) const;

 private:
  static constexpr int kFew = 16;
  MPI_Request few_[kFew];
  MPI_Status few_statuses_[kFew];
  MPI_Request* requests_ = few_;
  MPI_Status* statuses_ = few_statuses_;
  int count_ = 0;
};

}  // namespace damaris::recorder::mpi
