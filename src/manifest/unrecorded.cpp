#include "unrecorded.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/failure.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

constexpr const char* kKeep = "keep what is not yet recorded";

// Its first line.
Json heading(const std::string& regions) { return {{"unrecorded", regions}}; }

// Whole or not at all: the next line would be glued to a part of this one. Returns 0 or errno.
int add_whole(int descriptor, const std::string& heading, const std::string& line) {
  struct stat before = {};
  if (::fstat(descriptor, &before) != 0) return errno;
  const int error = write_all(descriptor, before.st_size == 0 ? heading + line : line);
  if (error != 0 && ::ftruncate(descriptor, before.st_size) != 0) return errno;
  return error;
}

}  // namespace

// What earlier runs recorded of the same steps is of another future.
KnownSteps steps_of_last_run(const std::string& record) {
  KnownSteps recorded;
  for_whole_lines(record, 0, [&](const std::string& line) {
    const Json json = may_be_believed(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    if (begins_run(line) || (json.is_object() && json.contains("run"))) {
      recorded = {};
      if (json.is_object() && json.contains("regions") && json["regions"].is_string())
        recorded.regions = json["regions"].get<std::string>();
      return true;
    }
    try {
      const StepEntry step = step_from_json(json);
      recorded.servers[step.step].insert(step.servers.begin(), step.servers.end());
    } catch (const Error&) {
      // This line is unreadable, and records nothing.
    }
    return true;
  });
  return recorded;
}

std::vector<Unrecorded> Unrecorded::all(const FileNames& names, const std::string& regions, int servers) {
  std::vector<Unrecorded> there;
  for (int server = 0; server < servers; ++server)
    if (Unrecorded one(names, server, regions); one.is_there()) there.push_back(std::move(one));
  return there;
}

// Not synchronized: what a dead process had written stays. A power failure takes the region along as well.
void Unrecorded::add(const Json& line) {
  waiting_ += sealed(text_of(line), "") + "\n";
  const int descriptor = open_own(path_, O_WRONLY | O_CREAT | O_APPEND | (begun_ ? 0 : O_TRUNC), 0644);
  if (descriptor < 0) throw Failure(std::string("cannot ") + kKeep + " in " + path_ + ": " + why_not_own(path_, errno), errno);
  begun_ = true;
  const int error = add_whole(descriptor, text_of(heading(regions_)) + "\n", waiting_);
  ::close(descriptor);
  if (error != 0) throw_system_failure(error, kKeep, path_);
  waiting_.clear();
}

// Only one that this user has written: what another one puts there would be recorded.
bool Unrecorded::is_there() const {
  const int own = open_own(path_, O_RDONLY, 0644);
  if (own < 0 && (errno == EMFILE || errno == ENFILE || errno == EIO || errno == ESTALE))
    throw_system_failure(errno, "open", path_);
  if (own < 0) return false;
  ::close(own);
  bool is_ours = false;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    is_ours = Json::parse(line, nullptr, false) == heading(regions_);
    return false;
  });
  return is_ours;
}

std::vector<StepEntry> Unrecorded::missing_in(const KnownSteps& recorded) const {
  std::vector<StepEntry> missing;
  if (recorded.regions != regions_ || !is_there()) return missing;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    if (!may_be_believed(line)) return true;  // its file is one that nobody knows of then
    StepEntry step;
    try {
      step = step_from_json(Json::parse(line, nullptr, false));
    } catch (const Error&) {
      return true;  // the heading, or a server's last word
    }
    const auto found = recorded.servers.find(step.step);
    if (found == recorded.servers.end() || found->second.count(server_) == 0) missing.push_back(std::move(step));
    return true;
  });
  return missing;
}

std::optional<ServerEntry> Unrecorded::end() const {
  std::optional<ServerEntry> end;
  if (!is_there()) return end;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    if (!may_be_believed(line)) return true;
    try {
      if (const auto word = server_entry_from_json(Json::parse(line, nullptr, false))) end = word;
    } catch (const Error&) {
      // Nobody can read it.
    }
    return true;
  });
  return end;
}

void Unrecorded::remove() const { ::unlink(path_.c_str()); }

}  // namespace damaris::manifest
