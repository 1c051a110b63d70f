#include "own_files.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "entries.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {

void OwnFiles::join(const std::string& record, std::uint64_t begins_at) {
  if (files_of_earlier_run(names_).empty()) return;  // saves reading a manifest that may be long
  SealedLines seals;
  std::size_t lines = 0;
  for_whole_lines(record, begins_at, [&](const std::string& line) {
    ++lines;
    all_of_this_run_ = seals.check(line) != SealedLines::Verdict::fine || !take_files_of(line);
    return !all_of_this_run_;
  });
  if (lines == 0) all_of_this_run_ = true;  // the manifest was moved: its lines are elsewhere
}

// Returns false if the line is damaged.
bool OwnFiles::take_files_of(const std::string& line) try {
  if (const Json json = Json::parse(line); json.contains("step"))
    for (const FileEntry& file : step_from_json(json).files)
      if (names_.is_final_name(file.name)) of_this_run_.insert(file.name);
  return true;
} catch (const Json::exception&) {
  return false;
} catch (const Error&) {
  return false;
}

std::vector<std::string> OwnFiles::of_earlier_runs() const {
  std::vector<std::string> names = all_of_this_run_ ? std::vector<std::string>{} : files_of_earlier_run(names_);
  const auto is_of_this_run = [&](const std::string& name) { return of_this_run_.count(name) > 0; };
  names.erase(std::remove_if(names.begin(), names.end(), is_of_this_run), names.end());
  return names;
}

// Only now, because a run that stores nothing must not destroy data.
bool OwnFiles::stored(const std::string& name) {
  if (!std::exchange(has_stored_, true) && replaces_all_)
    for (std::string& earlier : of_earlier_runs()) earlier_.insert(std::move(earlier));
  earlier_.erase(name);
  return of_this_run_.erase(name) > 0;
}

void OwnFiles::remove_earlier() {
  for (const std::string& name : std::exchange(earlier_, {})) ::unlink((names_.folder() + "/" + name).c_str());
}

}  // namespace damaris::manifest
