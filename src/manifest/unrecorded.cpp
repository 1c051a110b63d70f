#include "unrecorded.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
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

namespace {

void begin_run(const Json& line, RecordedSteps& recorded) {
  recorded = {};
  if (!line.is_object() || !line.contains("regions") || !line["regions"].is_string()) return;
  recorded.regions = line["regions"].get<std::string>();
  try {
    const RunEntry run = run_from_json(line);
    if (run.apart) recorded.apart.insert({{run.host, run.first_server}, run.regions});
  } catch (const Error&) {
    // Of a damaged line only the regions are taken.
  }
}

void take_server(const ServerEntry& entry, const std::string& regions, RecordedSteps& recorded) {
  if (entry.what != ServerEntry::What::joined || entry.regions.empty()) return;
  if (entry.regions == regions) recorded.forget({entry.host, entry.server});  // it came back
  recorded.apart.insert({{entry.host, entry.server}, entry.regions});
}

}  // namespace

// Only of the last run: earlier runs may have recorded the same steps of an abandoned course of the simulation.
RecordedSteps steps_of_last_run(const std::string& record, const std::string& regions) {
  RecordedSteps recorded;
  for_whole_lines(record, 0, [&](const std::string& line) {
    const Json json = is_trustworthy(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    if (begins_run(line) || (json.is_object() && json.contains("run"))) {
      begin_run(json, recorded);
      return true;
    }
    try {
      if (const auto entry = server_entry_from_json(json)) {
        take_server(*entry, regions, recorded);
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

constexpr char kStart[] = ".s", kEnding[] = ".unrecorded";

// "s3" of connected servers, "s0.node7" of independent ones.
std::string list_name(const Reporter& server) {
  return kStart + std::to_string(server.second) + (server.first.empty() ? "" : "." + server.first) + kEnding;
}

// The server in the name of a list.
std::optional<Reporter> server_in(const std::string& name, const std::string& start) {
  const std::size_t end = name.size() - std::min(name.size(), sizeof kEnding - 1);
  if (name.compare(0, start.size(), start) != 0 || end <= start.size() || name.compare(end, std::string::npos, kEnding) != 0)
    return std::nullopt;
  const std::string text = name.substr(start.size(), end - start.size()), number = text.substr(0, text.find('.'));
  const bool is_number = !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || (number[0] == '0' && number != "0")) return std::nullopt;
  const std::string host = number.size() < text.size() ? text.substr(number.size() + 1) : "";
  return host.empty() && number.size() < text.size() ? std::nullopt : std::optional<Reporter>({host, std::stoi(number)});
}

// Those of which the folder has a list; nothing if it cannot be read.
std::optional<std::set<Reporter>> servers_with_lists(const FileNames& names) {
  namespace fs = std::filesystem;
  const std::string start = fs::path(names.hidden(kStart)).filename().string();
  std::set<Reporter> found;
  std::error_code unreadable;
  fs::directory_iterator next(names.folder(), unreadable);
  for (const fs::directory_iterator end; !unreadable && next != end; next.increment(unreadable))
    if (const auto server = server_in(next->path().filename().string(), start)) found.insert(*server);
  return unreadable ? std::nullopt : std::optional(std::move(found));
}

// Whether this user wrote the file: otherwise another user could add steps to the manifest.
bool is_own(const std::string& path) {
  const int own = open_own(path, O_RDONLY, 0644);
  if (own < 0 && (errno == EMFILE || errno == ENFILE || errno == EIO || errno == ESTALE)) throw_system_failure(errno, "open", path);
  if (own >= 0) ::close(own);
  return own >= 0;
}

// That the list's first line names; "" for no list.
std::string regions_in(const std::string& path) {
  std::string regions;
  if (!is_own(path)) return regions;
  for_whole_lines(path, 0, [&](const std::string& line) {
    const Json json = is_trustworthy(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    if (json.is_object() && json.contains("unrecorded") && json["unrecorded"].is_string())
      regions = json["unrecorded"].get<std::string>();
    return false;
  });
  return regions;
}

}  // namespace

UnrecordedSteps::UnrecordedSteps(const FileNames& names, Reporter server, std::string regions)
    : path_(names.hidden(list_name(server))), server_(std::move(server)), regions_(std::move(regions)) {}

// The number of servers is what a manifest says, and may be forged: it costs nothing, but where the folder cannot be read and each name is
// tried.
std::vector<UnrecordedSteps> UnrecordedSteps::find_all(const FileNames& names, const std::string& regions, int servers) {
  std::vector<UnrecordedSteps> there;
  const auto take = [&](const Reporter& server) {
    if (UnrecordedSteps one(names, server, regions); one.exists()) there.push_back(std::move(one));
  };
  const auto found = servers_with_lists(names);
  for (int server = 0; !found && server < servers; ++server) take({"", server});
  if (!found) return there;
  for (const Reporter& server : *found)
    if (server.first.empty() && server.second < servers) take(server);
  return there;
}

std::vector<UnrecordedSteps> UnrecordedSteps::find_apart(const FileNames& names) {
  std::vector<UnrecordedSteps> there;
  for (const Reporter& server : servers_with_lists(names).value_or(std::set<Reporter>{})) {
    if (server.first.empty()) continue;
    UnrecordedSteps one(names, server, regions_in(names.hidden(list_name(server))));
    if (!one.regions_.empty()) there.push_back(std::move(one));
  }
  return there;
}

// Not synced: the data survive the process. A power failure would lose the region as well.
void UnrecordedSteps::add(const Json& line) {
  waiting_ += sealed(text_of(line), "") + "\n";
  add_waiting();
}

void UnrecordedSteps::add_waiting() {
  if (waiting_.empty()) return;
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

bool UnrecordedSteps::exists() const {
  if (!is_own(path_)) return false;
  bool is_ours = false;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    is_ours = Json::parse(line, nullptr, false) == heading(regions_);
    return false;
  });
  return is_ours;
}

std::vector<StepEntry> UnrecordedSteps::missing_in(const RecordedSteps& recorded) const {
  std::vector<StepEntry> missing;
  if (!recorded.has_server(server_, regions_) || !exists()) return missing;
  for_whole_lines(path_, 0, [&](const std::string& line) {
    if (!is_trustworthy(line)) return true;  // verify then reports its file as not recorded
    StepEntry step;
    try {
      step = step_from_json(Json::parse(line, nullptr, false));
    } catch (const Error&) {
      return true;  // the heading, or the line of a server
    }
    if (!recorded.by(server_, step.step)) missing.push_back(std::move(step));
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

void UnrecordedSteps::clear() {
  remove();
  begun_ = false;
  waiting_.clear();
}

// Each manifest is read once for all connected servers, whose regions are the same, and only if it is needed: it may be long.
std::vector<StepEntry> missing_in(const std::string& record, const std::vector<UnrecordedSteps>& lists) {
  std::map<std::string, RecordedSteps> recorded;
  std::vector<StepEntry> missing;
  for (const UnrecordedSteps& one : lists) {
    auto known = recorded.find(one.regions());
    if (known == recorded.end()) known = recorded.emplace(one.regions(), steps_of_last_run(record, one.regions())).first;
    for (StepEntry& step : one.missing_in(known->second)) missing.push_back(std::move(step));
  }
  return missing;
}

}  // namespace damaris::manifest
