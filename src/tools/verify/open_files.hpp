// Whether the views of a run can be read within the limit of open files, and what to do if not.
// Used by: damaris-verify, one thread.
// Before it: verify.hpp counts the files. After it: a line of its report for each view that takes too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/verify.hpp"

namespace damaris::tools {

// Of this process, as a program that is started beside it has them (RLIMIT_NOFILE).
struct OpenFiles {
  std::uint64_t soft = 0, hard = 0;
};
OpenFiles open_files();

// A sentence for each view of which a read of the whole opens more files than `limit` leaves room for; none: all can be read.
std::vector<std::string> too_many_files(const std::vector<manifest::ViewFiles>& views, const OpenFiles& limit);

}  // namespace damaris::tools
