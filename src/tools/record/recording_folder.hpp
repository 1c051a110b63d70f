// The folder of a recording: one job's, however many of its processes come to it.
// Used by: damaris-record, before it becomes the program.
// Before it: the command line. After it: DIR/raw, into which the recorder writes.
#pragma once

#include <string>
#include <vector>

namespace damaris::record {

// Makes `path` with recording.json and raw, or joins what another process of this job has made. Throws Error(DC_E_ARGUMENT) if it holds
// something else, or another job's recording and not `force`; Error(DC_E_IO) if it cannot be made.
// Returns what tells the recording from all others, on every node.
std::string enter_folder(const std::string& path, const std::vector<std::string>& program, bool force);

}  // namespace damaris::record
