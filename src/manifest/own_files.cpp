#include "own_files.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/json.hpp"
#include "entries.hpp"
#include "reader.hpp"
#include "sealed_line.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {

namespace {

void take_files(const Json& line, const FileNames& names, ShardReader& shards, FilesOfRun& found) {
  const auto take_process = [&](const std::string& host, int server) {
    found.prefixes.insert(FileNames(names.of_run(""), host, server).prefix());
  };
  if (line.contains("step")) add_names_of(step_from_json(line), shards, found.files);
  if (line.contains("run"))
    if (const RunEntry run = run_from_json(line); run.apart) take_process(run.host, run.first_server);
  if (const auto entry = server_entry_from_json(line)) take_process(entry->host, entry->server);
}

}  // namespace

std::optional<FilesOfRun> files_of_run(const std::string& record, std::uint64_t begins_at, const FileNames& names) {
  FilesOfRun found;
  SealedLines seals;
  ShardReader shards(names.folder());
  bool is_whole = false;  // without a line: the manifest was moved, and its lines are elsewhere
  for_whole_lines(record, begins_at, [&](const std::string& line) {
    try {
      is_whole = seals.check(line) == SealedLines::Verdict::fine;
      if (is_whole) take_files(Json::parse(line), names, shards, found);
    } catch (const Json::exception&) {
      is_whole = false;
    } catch (const Error&) {
      is_whole = false;
    }
    return is_whole;
  });
  return is_whole ? std::optional(std::move(found)) : std::nullopt;
}

void OwnFiles::join(const std::string& record, std::uint64_t begins_at) {
  if (files_of_earlier_run(names_).empty()) return;  // saves reading a manifest that may be long
  const std::optional<FilesOfRun> found = files_of_run(record, begins_at, names_);
  all_of_this_run_ = !found;
  if (!found) return;
  for (const std::string& name : found->files)
    if (names_.is_final_name(name)) of_this_run_.insert(name);
}

std::vector<std::string> OwnFiles::of_earlier_runs() const {
  std::vector<std::string> names = all_of_this_run_ ? std::vector<std::string>{} : files_of_earlier_run(names_);
  const auto is_of_this_run = [&](const std::string& name) { return of_this_run_.count(name) > 0; };
  names.erase(std::remove_if(names.begin(), names.end(), is_of_this_run), names.end());
  return names;
}

void OwnFiles::prepare() {
  if (prepared_ || !replaces_all_) return;
  std::set<std::string> earlier;
  for (std::string& name : of_earlier_runs()) earlier.insert(std::move(name));
  earlier_.swap(earlier);
  prepared_ = true;
}

bool OwnFiles::stored(const std::string& name) noexcept {
  has_stored_ = true;
  earlier_.erase(name);
  return of_this_run_.erase(name) > 0;
}

// Not before a file is stored, because a run that stores nothing must not destroy data.
void OwnFiles::remove_earlier() {
  if (!has_stored_) return;
  for (const std::string& name : std::exchange(earlier_, {})) ::unlink((names_.folder() + "/" + name).c_str());
}

}  // namespace damaris::manifest
