// A text that all processes of one run find, and no process of another run, where no MPI lets them agree on one.
// Used by: every server without MPI and every process in place, once at start-up.
// Before it: the environment of launchers and batch systems. After it: the region's header, the storage's hold of its basename.
#pragma once

#include <string>
#include <string_view>

namespace damaris {

// From the text of the configuration and, the first that there is: DAMARIS_JOB; the launcher's number of the run; the batch job; the launcher
// as a process of this machine. With none of them a process is a run of its own, as nothing tells its companions from strangers.
std::string run_identity(std::string_view xml);

}  // namespace damaris
