// Which file a program's name stands for, and whether a preload library can be loaded into it.
// Used by: damaris-record, before it becomes the program.
// Before it: the command line. After it: execv, or a message.
#pragma once

#include <string>

namespace damaris::record {

// The file that execvp would run. Throws Error(DC_E_ARGUMENT) if there is none, or it may not be executed.
std::string find_program(const std::string& name);

// Throws Error(DC_E_ARGUMENT) with the reason for a program that the loader would start without a preload library: one that is statically
// linked, that changes its user, that is of another architecture, or that is linked with another MPI than the recorder's. Of a script, its
// interpreter counts.
void check_program(const std::string& path);

}  // namespace damaris::record
