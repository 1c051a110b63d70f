// The state of the stream logs of a run, as text.
// Used by: damaris-verify, one thread.
// Before it: the files of the logs. After it: its report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.hpp"

namespace damaris::tools {

struct Logs {
  std::vector<std::string> damaged, holes;  // sentences
  std::vector<std::string> unended;         // indexes whose server has not come to its end
  std::size_t number = 0, streams = 0;
  std::uint64_t bytes = 0;
};

// `run`: a basename, a manifest, or a folder.
bool has_logs(const std::string& run);
// Reads all bytes, unless `quick`.
Logs inspect_logs(const std::string& run, bool quick);
// "2 logs, 64 streams, 1.5 GiB: all as recorded"
std::string summary(const Logs& logs);
Json json_of(const Logs& logs);

}  // namespace damaris::tools
