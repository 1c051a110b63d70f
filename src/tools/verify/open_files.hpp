// Checks whether the views of a run can be read within the limit of open files, and suggests a remedy if not.
// Used by: damaris-verify, one thread.
// Before it: the files counted by verify.hpp. After it: a line of the report for each view that needs too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/verify.hpp"

namespace damaris::tools {

// The limits of this process, which a program started from the same shell also has (RLIMIT_NOFILE).
struct OpenFiles {
  std::uint64_t soft = 0, hard = 0;
};
OpenFiles open_files();

// Returns a message for each view whose complete read opens more files than `limit` allows; none if all can be read.
std::vector<std::string> too_many_files(const std::vector<manifest::ViewFiles>& views, const OpenFiles& limit);

}  // namespace damaris::tools
