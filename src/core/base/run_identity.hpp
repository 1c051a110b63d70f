// A string that is equal in all processes of one run and different in every other run, for runs without MPI.
// Used by: every server without MPI and every process in place, once at start-up.
// Before it: the environment of launchers and batch systems. After it: the region's header, the storage's lock on its basename.
#pragma once

#include <string>
#include <string_view>

namespace damaris {

// Derived from the text of the configuration and the first of these that exists: DAMARIS_JOB; the launcher's run number; the batch job; the
// launcher as a process of this machine. Without any of them each process is a run of its own.
std::string run_identity(std::string_view xml);

}  // namespace damaris
