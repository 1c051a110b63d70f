// The lines of a text file that is written a line at a time. What cannot be read is an error, and never a file without lines: a manifest
// that seems to be empty is one to begin anew, or to remove.
// Used by: whoever reads the manifest or what is not yet recorded, on any thread.
// Before it: own_file.hpp opens it. After it: reader.hpp and unrecorded.hpp make sense of each line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace damaris::manifest {

// Hands over each line from byte `from` on, without its end, until `take` returns false. A last line without an end is one that is being
// written, and left out. Returns false where there is no such file. Throws Failure for one that is there and cannot be read.
bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take);

}  // namespace damaris::manifest
