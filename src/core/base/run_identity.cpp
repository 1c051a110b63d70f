#include "core/base/run_identity.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/process.hpp"

namespace damaris {
namespace {

constexpr int kMostAncestors = 64;

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// Identifies the run, not the batch job, which may contain several concurrent runs.
std::string launched_run() {
  for (const char* variable : {"PMIX_NAMESPACE", "PALS_APID"})
    if (const std::string value = value_of(variable); !value.empty()) return format("{} {}", variable, value);
  const std::string job = value_of("SLURM_JOB_ID"), step = value_of("SLURM_STEP_ID");
  return job.empty() || step.empty() ? "" : format("slurm {}.{}", job, step);
}

std::string batch_job() {
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const std::string value = value_of(variable); !value.empty()) return format("{} {}", variable, value);
  return "";
}

std::string text_of(std::int32_t pid, const char* what) {
  std::ifstream file(format("/proc/{}/{}", pid, what), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::int32_t parent_of(std::int32_t pid) {
  const std::string stat = text_of(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.size() < name_end + 5 ? 0 : std::atoi(stat.c_str() + name_end + 4);
}

// The nearest ancestor that is not itself a rank: scripts and debuggers may run between a rank and its launcher.
std::string local_launcher() {
  for (const char* variable : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID"}) {
    if (value_of(variable).empty()) continue;
    std::int32_t ancestor = parent_of(static_cast<std::int32_t>(::getpid()));
    const std::string entry = '\0' + std::string(variable) + '=';
    for (int level = 0; ancestor > 1 && level < kMostAncestors; ++level, ancestor = parent_of(ancestor))
      if (('\0' + text_of(ancestor, "environ")).find(entry) == std::string::npos)
        return format("launcher {} {}", ancestor, start_time_of(ancestor));
  }
  return "";
}

std::string machine() {
  char host[256] = {};
  (void)::gethostname(host, sizeof host - 1);
  return host;
}

std::string group() {
  if (const std::string given = value_of("DAMARIS_JOB"); !given.empty()) return format("job {}", given);
  if (const std::string run = launched_run(); !run.empty()) return run;
  if (const std::string job = batch_job(); !job.empty()) return job;
  if (const std::string launcher = local_launcher(); !launcher.empty()) return format("{} {}", machine(), launcher);
  const auto self = static_cast<std::int32_t>(::getpid());
  return format("{} process {} {}", machine(), self, start_time_of(self));
}

}  // namespace

std::string run_identity(std::string_view xml) { return format("{:016x} {}", digest(xml), group()); }

}  // namespace damaris
