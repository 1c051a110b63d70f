#include "restart_reader.hpp"

#include <damaris/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "../failure.hpp"
#include "../file_sum.hpp"
#include "dataset_reader.hpp"
#include "open_stored.hpp"
#include "stored_parts.hpp"
#include "stored_values.hpp"

namespace damaris::hdf5 {
namespace {

std::string record_path(const std::string& basename) {
  return std::filesystem::absolute(basename).lexically_normal().string() + ".jsonl";
}

std::string name_of(const dc_read_t& read) {
  return "'" + std::string(read.variable->path) + "' of step " + std::to_string(read.step);
}

bool holds(const StepRecord& step, const std::string& variable) {
  for (const StoredFile& file : step.files)
    if (std::any_of(file.datasets.begin(), file.datasets.end(), [&](const StoredDataset& d) { return d.variable == variable; }))
      return true;
  return false;
}

Error damaged(const std::string& path, const std::string& what) {
  return Error(DC_E_IO, path + " " + what + ": it is damaged, or of another run; put it back, or go on from another step");
}

void check_values(const StoredFile& file, const std::string& path) {
  const File open = open_stored(path);
  for (const StoredDataset& dataset : file.datasets)
    if (checksum_of(open, dataset) != dataset.checksum)
      throw damaged(path, "has other values of /" + dataset.path + " than were stored");
}

std::string nearest_steps(const std::map<std::int64_t, StepRecord>& steps, std::int64_t step) {
  const auto after = steps.lower_bound(step);
  std::string text;
  if (after != steps.begin()) text = std::to_string(std::prev(after)->first);
  if (after != steps.end()) text += (text.empty() ? "" : " and ") + std::to_string(after->first);
  return text;
}

}  // namespace

RestartReader::RestartReader(const std::string& basename) : record_(record_path(basename)) {}

// Once: what is added later is of a run that goes on from this one.
const std::map<std::int64_t, StepRecord>& RestartReader::steps() {
  if (!has_record_) has_record_ = record_.read_on();
  if (!has_record_)
    throw Error(DC_E_NOT_STORED, "no run is recorded in " + record_.path() +
                                     "; restart=\"...\" must be what basename=\"...\" was in the run to go on from");
  return record_.steps();
}

const StepRecord& RestartReader::step_of(const dc_read_t& read) {
  const auto& all = steps();
  const auto found = all.find(read.step);
  if (found != all.end()) {
    require_no_doubt(read.step);
    return found->second;
  }
  const std::string nearest = nearest_steps(all, read.step);
  throw Error(DC_E_NOT_STORED,
              name_of(read) + " is not in " + record_.path() + ": " +
                  (nearest.empty() ? "no step was stored" : "the nearest steps stored are " + nearest) +
                  (record_.damaged().empty() ? "" : "; a line that may hold it cannot be read: " + record_.damaged().front()));
}

// A run that took up the step anew, or a server's part of it, may stand in what is damaged.
void RestartReader::require_no_doubt(std::int64_t step) const {
  const std::string doubt = record_.doubt_about(step);
  if (!doubt.empty())
    throw Error(DC_E_IO,
                "step " + std::to_string(step) + " may be told of otherwise where the record is damaged: " + doubt +
                    "; put the record back from a copy, cut it before that line, or go on from a step that was stored after it");
}

void RestartReader::replace_from(std::int64_t step) {
  if (!replaced_from_) replaced_from_ = step;
}

void RestartReader::read(const dc_read_t& read) {
  if (is_replaced(read.step))
    throw Error(DC_E_NOT_STORED, name_of(read) + " was replaced: this run has stored steps from " +
                                     std::to_string(*replaced_from_) + " on under the same basename; read before the first write");
  const StepRecord& step = step_of(read);
  try {
    read_parts(step, read);
  } catch (const Error& error) {
    const std::string silent = error.code() == DC_E_NOT_STORED ? record_.silent_servers(read.step) : "";
    throw Error(error.code(), name_of(read) + " in " + record_.path() + ": " + error.what() +
                                  (silent.empty() ? "" : "; servers that did not report it: " + silent));
  } catch (const Failure& failure) {
    throw Error(DC_E_IO, name_of(read) + ": " + failure.what() + "; put the file back, or go on from another step");
  }
}

// Once a file: its size, as HDF5 may not notice, and its bytes; the values where the record has no checksum of the file.
void RestartReader::check_file(const StoredFile& file, const std::string& path) {
  if (checked_.count(path) > 0) return;
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) throw_system_failure(errno, "look at", path);
  if (static_cast<std::uint64_t>(facts.st_size) != file.bytes)
    throw damaged(path, "has " + std::to_string(facts.st_size) + " bytes, it was stored with " + std::to_string(file.bytes));
  if (!file.checksum)
    check_values(file, path);
  else if (sum_of_file(path).checksum != *file.checksum)
    throw damaged(path, "has not the checksum that it was stored with");
  checked_.insert(path);
}

void RestartReader::read_parts(const StepRecord& step, const dc_read_t& read) {
  const FoundParts found = find_parts(step, read);
  const StoredFile* open = nullptr;
  std::unique_ptr<DatasetReader> reader;
  for (const StoredPart& part : found.parts) {
    if (part.file != open) {
      const std::string path = record_.folder() + "/" + part.file->name;
      check_file(*part.file, path);
      reader = std::make_unique<DatasetReader>(path);
      open = part.file;
    }
    try {
      reader->read(part, *read.variable, {static_cast<std::byte*>(read.data), found.frame});
    } catch (const Failure& failure) {
      throw Failure(part.file->name + ": " + failure.what(), failure.system_error());
    }
  }
}

std::int64_t RestartReader::last_step(const dc_variable_info_t* variable) {
  const auto& all = steps();
  const auto good = [&](const auto& entry) {
    return !is_replaced(entry.first) && entry.second.complete &&
           (variable == nullptr ? !entry.second.files.empty() : holds(entry.second, variable->path));
  };
  const auto found = std::find_if(all.rbegin(), all.rend(), good);
  if (found != all.rend()) {
    require_no_doubt(found->first);
    return found->first;
  }
  throw Error(DC_E_NOT_STORED, "no complete step" + (variable == nullptr ? "" : " with '" + std::string(variable->path) + "'") +
                                   " is in " + record_.path());
}

}  // namespace damaris::hdf5
