// What a server reports of a step to the one that keeps the manifest: the step, and the descriptions of its files, encoded.
// Used by: writer.hpp, on the work threads of both servers.
// Before it: a stored step. After it: step_collector.hpp.
#pragma once

#include <string>
#include <string_view>

#include "entries.hpp"
#include "shard.hpp"

namespace damaris::manifest {

struct ServerReport {
  StepEntry step;  // without files
  ServerFiles files;
};

// `facts`: those of the last report, which are replaced by those of this one. The report leaves them out if they are the same, unless
// `is_own`. If it throws, nothing has changed.
ServerReport report_of(StepEntry& record, int server, bool is_own, std::string& facts);

// Bytes that begin with 'r', as no other message between the writers does.
std::string to_message(const ServerReport& report);
bool is_report(std::string_view message);
// Throws damaris::Error(DC_E_IO) or Json::exception for bytes that are no report.
ServerReport report_from(int server, std::string_view message);

}  // namespace damaris::manifest
