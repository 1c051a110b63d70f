#include "unrecorded.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "../failure.hpp"
#include "run_record.hpp"

namespace damaris::hdf5 {
namespace {

constexpr const char* kKeep = "keep what is not yet recorded";

}  // namespace

// Not synchronized: who dies is a process, and what it had written stays. A power failure takes the region along as well.
void Unrecorded::add(const StepRecord& step) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (begun_ ? 0 : O_TRUNC);
  const int descriptor = ::open(path_.c_str(), flags, 0644);
  if (descriptor < 0) throw_system_failure(errno, kKeep, path_);
  begun_ = true;
  const std::string line = to_json(step).dump() + "\n";
  const ssize_t written = ::write(descriptor, line.data(), line.size());
  const int error = errno;
  ::close(descriptor);
  if (written != static_cast<ssize_t>(line.size())) throw_system_failure(written < 0 ? error : ENOSPC, kKeep, path_);
}

std::vector<StepRecord> Unrecorded::missing_in(const std::string& record, int server) const {
  RunRecordReader recorded(record);
  recorded.read_on();
  std::vector<StepRecord> missing;
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    StepRecord step;
    try {
      step = step_from_json(Json::parse(line, nullptr, false));
    } catch (const Error&) {
      continue;  // cut off: its writer was killed in it, and the step is still in the region
    }
    const auto found = recorded.steps().find(step.step);
    const bool known =
        found != recorded.steps().end() && std::count(found->second.servers.begin(), found->second.servers.end(), server) > 0;
    if (!known) missing.push_back(std::move(step));
  }
  return missing;
}

void Unrecorded::remove() const { ::unlink(path_.c_str()); }

}  // namespace damaris::hdf5
