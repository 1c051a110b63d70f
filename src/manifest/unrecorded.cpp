#include "unrecorded.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/failure.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "output_folder.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

constexpr const char* kAddUnrecorded = "add an unrecorded step";
// The first line of the file.
Json heading(const std::string& regions) { return {{"unrecorded", regions}}; }

// Adds the line or nothing: the next line would be appended to a partial one. Returns 0 or errno.
int add_whole(int descriptor, const std::string& heading, const std::string& line) {
  struct stat before = {};
  if (::fstat(descriptor, &before) != 0) return errno;
  const int error = write_all(descriptor, before.st_size == 0 ? heading + line : line);
  if (error != 0 && ::ftruncate(descriptor, before.st_size) != 0) return errno;
  return error;
}

}  // namespace

// Only of the last run: earlier runs may have recorded the same steps of an abandoned course of the simulation.
RecordedSteps steps_of_last_run(const std::string& record, const std::string& regions) {
  RecordedSteps recorded;
  for_whole_lines(record, 0, [&](const std::string& line) {
    const Json json = is_trustworthy(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    if (begins_run(line) || (json.is_object() && json.contains("run"))) {
      recorded = {};
      if (json.is_object() && json.contains("regions") && json["regions"].is_string())
        recorded.regions = json["regions"].get<std::string>();
      return true;
    }
    try {
      if (const auto entry = server_entry_from_json(json)) {
        const bool comes_back = entry->what == ServerEntry::What::joined && !regions.empty() && entry->regions == regions;
        if (comes_back) recorded.forget({entry->host, entry->server});
        return true;
      }
      const StepEntry step = step_from_json(json);
      recorded.reporters[step.step].insert(step.reporters.begin(), step.reporters.end());
    } catch (const Error&) {
      // An unreadable line records nothing.
    }
    return true;
  });
  return recorded;
}

namespace {

constexpr char kEnding[] = ".unrecorded";

// The number in the name of a server's list, or -1.
int server_in(const std::string& name, const std::string& start) {
  const std::size_t end = name.size() - std::min(name.size(), sizeof kEnding - 1);
  if (name.compare(0, start.size(), start) != 0 || end <= start.size() || name.compare(end, std::string::npos, kEnding) != 0)
    return -1;
  const std::string number = name.substr(start.size(), end - start.size());
  const bool is_number = number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
  return is_number && (number[0] != '0' || number == "0") ? std::stoi(number) : -1;
}

// Those of which the folder has a list. The number of servers is what a manifest says, and may be forged: it costs nothing.
std::set<int> servers_with_lists(const FileNames& names, int servers) {
  namespace fs = std::filesystem;
  const std::string start = fs::path(names.hidden(".s")).filename().string();
  std::set<int> found;
  std::error_code unreadable;
  fs::directory_iterator next(names.folder(), unreadable);
  for (const fs::directory_iterator end; !unreadable && next != end; next.increment(unreadable))
    if (const int server = server_in(next->path().filename().string(), start); server >= 0 && server < servers)
      found.insert(server);
  if (unreadable)  // then each name is tried
    for (int server = 0; server < servers; ++server) found.insert(found.end(), server);
  return found;
}

}  // namespace

std::vector<UnrecordedSteps> UnrecordedSteps::find_all(const FileNames& names, const std::string& regions, int servers) {
  std::vector<UnrecordedSteps> there;
  for (const int server : servers_with_lists(names, servers))
    if (UnrecordedSteps one(names, server, regions); one.exists()) there.push_back(std::move(one));
  return there;
}

// Not synced: the data survive the process. A power failure would lose the region as well.
void UnrecordedSteps::add(const Json& line) {
  waiting_ += sealed(text_of(line), "") + "\n";
  const int descriptor = open_own(path_, O_WRONLY | O_CREAT | O_APPEND | (begun_ ? 0 : O_TRUNC), 0644);
  if (descriptor < 0)
    throw Failure(std::string("cannot ") + kAddUnrecorded + " to " + path_ + ": " + why_not_own(path_, errno, kOtherBasename),
                  errno);
  begun_ = true;
  const int error = add_whole(descriptor, text_of(heading(regions_)) + "\n", waiting_);
  ::close(descriptor);
  if (error != 0) throw_system_failure(error, kAddUnrecorded, path_);
  waiting_.clear();
}

// Requires that this user wrote the file: otherwise another user could add steps to the manifest.
bool UnrecordedSteps::exists() const {
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

std::vector<StepEntry> UnrecordedSteps::missing_in(const RecordedSteps& recorded) const {
  std::vector<StepEntry> missing;
  if (recorded.regions != regions_ || !exists()) return missing;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    if (!is_trustworthy(line)) return true;  // verify then reports its file as not recorded
    StepEntry step;
    try {
      step = step_from_json(Json::parse(line, nullptr, false));
    } catch (const Error&) {
      return true;  // the heading, or the line of a server
    }
    if (!recorded.by({"", server_}, step.step)) missing.push_back(std::move(step));
    return true;
  });
  return missing;
}

std::optional<ServerEntry> UnrecordedSteps::end() const {
  std::optional<ServerEntry> end;
  if (!exists()) return end;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    if (!is_trustworthy(line)) return true;
    try {
      if (const auto entry = server_entry_from_json(Json::parse(line, nullptr, false))) end = entry;
    } catch (const Error&) {
      // Ignore an unreadable line.
    }
    return true;
  });
  return end;
}

void UnrecordedSteps::remove() const { ::unlink(path_.c_str()); }

}  // namespace damaris::manifest
