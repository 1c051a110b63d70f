#include "restart_reader.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "../file/handle.hpp"
#include "dataset_reader.hpp"
#include "manifest/file_sum.hpp"
#include "manifest/stored_parts.hpp"
#include "stored_layout.hpp"
#include "stored_values.hpp"

namespace damaris::hdf5 {
namespace {

std::string name_of(const dc_read_t& read) {
  return "'" + std::string(read.variable->path) + "' of step " + std::to_string(read.step);
}

Error damaged(const std::string& path, const std::string& what) {
  return Error(DC_E_IO, path + " " + what + ": it is damaged, or of another run; restore it, or continue from another step");
}

void check_values(const manifest::FileEntry& file, const std::string& path) {
  const File open = open_stored(path);
  for (const manifest::DatasetEntry& dataset : file.datasets)
    if (checksum_of(open, dataset) != dataset.checksum)
      throw damaged(path, "has other values of /" + dataset.path + " than those stored");
}

std::string nearest_steps(const std::map<std::int64_t, manifest::StepEntry>& steps, std::int64_t step) {
  const auto after = steps.lower_bound(step);
  std::string text;
  if (after != steps.begin()) text = std::to_string(std::prev(after)->first);
  if (after != steps.end()) text += (text.empty() ? "" : " and ") + std::to_string(after->first);
  return text;
}

}  // namespace

RestartReader::RestartReader(const std::string& basename, std::int64_t before) : manifest_(basename, before), before_(before) {}

// Read once: records added later belong to a run that continues this one.
const std::map<std::int64_t, manifest::StepEntry>& RestartReader::steps() {
  if (!has_read_) manifest_.read_on();
  has_read_ = true;
  if (!manifest_.has_logs())
    throw Error(DC_E_NOT_STORED, "no run is recorded in " + basename() +
                                     ".g*.jsonl; restart=\"...\" must be the basename=\"...\" of the run to continue");
  return manifest_.steps();
}

void RestartReader::require_step(const dc_read_t& read) {
  const auto& all = steps();
  if (all.count(read.step) > 0) return require_undamaged(read.step);
  const std::string nearest = nearest_steps(all, read.step);
  throw Error(DC_E_NOT_STORED,
              name_of(read) + " is not in " + basename() + ": " +
                  (nearest.empty() ? "no step was stored" : "the nearest steps stored are " + nearest) +
                  (manifest_.damaged().empty() ? "" : "; it may be in a damaged record: " + manifest_.damaged().front()));
}

// The clients of a server read one variable after the other.
const manifest::StepEntry& RestartReader::files_of(std::int64_t step, const std::string& variable) {
  if (!found_ || found_step_ != step || found_variable_ != variable) {
    found_.reset();
    found_ = manifest_.with_files(step, variable);
    found_step_ = step;
    found_variable_ = variable;
  }
  return *found_;
}

// A damaged line may have been about a run that replaced the step, or a server's part of it.
void RestartReader::require_undamaged(std::int64_t step) const {
  const std::string damage = manifest_.damage_since(step);
  if (!damage.empty())
    throw Error(DC_E_IO, "step " + std::to_string(step) + " may be affected by damage to the manifest: " + damage +
                             "; restore the log from a copy, or continue from a step that was stored after it");
}

// The likely cause of a file that does not match: another process of this run, or this one before it came back, has replaced it.
std::string RestartReader::why_changed(std::int64_t step) const {
  if (before_ == manifest::Manifest::kAll) return "";
  manifest::Manifest now(basename());
  now.read_on();
  const std::optional<std::int64_t> first = now.first_stored_of_last_run();
  if (!first || step < *first) return "";
  return "; this run has stored steps from " + std::to_string(*first) +
         " on under the same basename: read before any of its processes writes";
}

void RestartReader::replace_from(std::int64_t step) {
  if (!replaced_from_) replaced_from_ = step;
}

void RestartReader::read(const dc_read_t& read) {
  if (is_replaced(read.step))
    throw Error(DC_E_NOT_STORED, name_of(read) + " was replaced: this run has stored steps from " +
                                     std::to_string(*replaced_from_) + " on under the same basename; read before the first write");
  require_step(read);
  progress_.begin(read, Clock::now());
  try {
    read_parts(files_of(read.step, read.variable->path), read);
  } catch (const Error& error) {
    const std::string unreported = error.code() == DC_E_NOT_STORED ? manifest_.unreported_servers(read.step) : "";
    throw Error(error.code(), name_of(read) + " in " + basename() + ": " + error.what() +
                                  (unreported.empty() ? "" : "; servers that did not report it: " + unreported) +
                                  (error.code() == DC_E_IO ? why_changed(read.step) : ""));
  } catch (const Failure& failure) {
    throw Error(DC_E_IO, name_of(read) + ": " + failure.what() + "; restore the file, or continue from another step");
  }
}

RestartReader::FileState RestartReader::state_of(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) throw_system_failure(errno, "stat", path);
  return {facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

// Checks each file once, and again if it was replaced: its size, as HDF5 may not notice, and its checksum; or its values, if the manifest
// has no checksum of the file.
void RestartReader::check_file(const manifest::FileEntry& file, const std::string& path) {
  const FileState now = state_of(path);
  if (const auto known = checked_.find(path); known != checked_.end() && known->second == now) return;
  if (static_cast<std::uint64_t>(now.bytes) != file.bytes)
    throw damaged(path, "has " + std::to_string(now.bytes) + " bytes, it was stored with " + std::to_string(file.bytes));
  const auto progress = [&](std::uint64_t done) { progress_.checks(path, done, file.bytes, Clock::now()); };
  if (!file.checksum)
    check_values(file, path);
  else if (manifest::sum_of_file(path, 0, file.bytes, progress).checksum != *file.checksum)
    throw damaged(path, "does not match its checksum");
  checked_[path] = now;
}

void RestartReader::read_parts(const manifest::StepEntry& step, const dc_read_t& read) {
  const manifest::FoundParts found = manifest::find_parts(step, read);
  const manifest::FileEntry* open = nullptr;
  std::string path;
  std::unique_ptr<DatasetReader> reader;
  const auto require_unchanged = [&] {
    if (open != nullptr && !(state_of(path) == checked_.at(path))) throw damaged(path, "was changed or replaced while it was read");
  };
  for (const manifest::StoredPart& part : found.parts) {
    if (part.file != open) {
      require_unchanged();
      path = manifest_.folder() + "/" + part.file->name;
      check_file(*part.file, path);
      reader = std::make_unique<DatasetReader>(path);
      open = part.file;
    }
    try {
      reader->read(part, *read.variable, {static_cast<std::byte*>(read.data), found.frame});
    } catch (const Failure& failure) {
      throw Failure(part.file->name + ": " + failure.what(), failure.system_error());
    }
    progress_.took(read.bytes / found.parts.size(), Clock::now());  // about: parts differ in size
  }
  require_unchanged();
}

std::int64_t RestartReader::last_step(const dc_variable_info_t* variable) {
  const auto& all = steps();
  const auto good = [&](const auto& entry) {
    return !is_replaced(entry.first) && entry.second.complete &&
           (variable == nullptr ? entry.second.has_files() : !files_of(entry.first, variable->path).files.empty());
  };
  const auto found = std::find_if(all.rbegin(), all.rend(), good);
  if (found != all.rend()) {
    require_undamaged(found->first);
    return found->first;
  }
  throw Error(DC_E_NOT_STORED, "no complete step" + (variable == nullptr ? "" : " with '" + std::string(variable->path) + "'") +
                                   " is in " + basename());
}

}  // namespace damaris::hdf5
