#include "run_record.hpp"

#include "core/base/own_file.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace damaris::hdf5 {
namespace {

int servers_of(const Json& run) {
  try {
    return run_from_json(run).servers;
  } catch (const Error&) {
    return 0;  // whoever reads the record says so
  }
}

}  // namespace

RecordOutline outline_of(const std::string& path) {
  RecordOutline outline;
  std::uint64_t offset = 0, run_begin = 0;
  bool replaces_all = false;  // the run does, once it has files
  std::ifstream file = open_to_read(path);
  for (std::string line; std::getline(file, line) && !file.eof(); offset += line.size() + 1) {
    const Json json = Json::parse(line, nullptr, false);
    const auto text = [&](const char* key) {
      return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
    };
    if (json.is_object() && json.contains("run")) {
      outline.job = text("job");
      outline.regions = text("regions");
      outline.servers = servers_of(json);
      outline.has_joined = false;
      replaces_all = text("replaces") == "all";
      run_begin = offset;
      continue;
    }
    if (json.is_object() && (json.contains("joined") || json.contains("ended"))) {
      outline.has_joined |= json.contains("joined");
      continue;
    }
    outline.tells_of_iterations = true;
    if (replaces_all && json.is_object() && json.contains("files") && !json["files"].empty()) outline.replaced_until = run_begin;
  }
  return outline;
}

std::string RunRecordReader::folder() const {
  const std::size_t slash = path_.rfind('/');
  return slash == std::string::npos ? "." : path_.substr(0, slash);
}

std::vector<std::string> RunRecordReader::silent_servers(std::int64_t step) const {
  return completeness_[run_of_.at(step)].silent(steps_.at(step));
}

std::vector<std::string> RunRecordReader::why_partial(std::int64_t step) const {
  return completeness_[run_of_.at(step)].reasons(steps_.at(step));
}

// Anew each time: what one server had not told of yet another line may tell now.
void RunRecordReader::judge() {
  for (auto& [step, record] : steps_) record.complete = why_partial(step).empty();
}

bool RunRecordReader::read_on() {
  errno = 0;
  std::ifstream file = open_to_read(path_);
  // Who takes a run that cannot be read for one that is not there begins anew, and replaces what it should go on from.
  const auto fail = [this] { throw Error(DC_E_IO, "the run recorded in " + path_ + " cannot be read: " + std::strerror(errno)); };
  if (!file && errno != ENOENT && errno != ENOTDIR) fail();
  if (!file) return false;
  file.seekg(static_cast<std::streamoff>(offset_));
  const std::uint64_t before = offset_;
  // A line at a time: the whole of a long run may be larger than what its steps take in memory.
  for (std::string line; std::getline(file, line) && !file.eof(); ++line_) {
    take_line(line);
    offset_ += line.size() + 1;
  }
  if (file.bad()) fail();
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  is_cut_off_ = !unknown && size > offset_;
  if (offset_ > before) judge();
  return offset_ > before;
}

void RunRecordReader::take_line(const std::string& line) {
  const auto leave_out = [&](const std::string& why) { damaged_.push_back(path_ + ":" + std::to_string(line_ + 1) + ": " + why); };
  try {
    const Json json = Json::parse(line);
    if (json.contains("run")) {
      runs_.push_back(run_from_json(json));
      completeness_.emplace_back(runs_.back());
      begun_ = false;
      waiting_.clear();
      return;
    }
    if (const auto word = word_from_json(json)) return completeness_.back().told(*word);
    take_step(step_from_json(json));
  } catch (const Json::exception&) {
    leave_out("this line is no JSON: it is damaged");
  } catch (const Error& error) {
    if (error.code() == DC_E_VERSION) throw Error(DC_E_VERSION, path_ + ":" + std::to_string(line_ + 1) + ": " + error.what());
    leave_out(error.what());
  }
}

void RunRecordReader::take_step(StepRecord&& record) {
  completeness_.back().told(record);
  const auto is_of_this_run = [&](const auto& entry) { return entry.second == runs_.size(); };
  if (!begun_ && record.files.empty() && !std::all_of(run_of_.begin(), run_of_.end(), is_of_this_run))
    return waiting_.push_back(std::move(record));
  if (!begun_ && !record.files.empty()) begin_run(record.step);
  add(std::move(record));
}

// What earlier runs stored is of another future.
void RunRecordReader::begin_run(std::int64_t first_step) {
  begun_ = true;
  const bool all = !runs_.empty() && runs_.back().replaces_all;
  for (auto later = all ? run_of_.begin() : run_of_.lower_bound(first_step); later != run_of_.end();)
    if (later->second == runs_.size()) {
      ++later;
    } else {
      for (const StoredFile& file : steps_.at(later->first).files) replaced_.insert(file.name);
      steps_.erase(later->first);
      later = run_of_.erase(later);
    }
  for (StepRecord& step : std::exchange(waiting_, {}))
    if (all || step.step >= first_step) add(std::move(step));
}

void RunRecordReader::add(StepRecord&& record) {
  const auto found = steps_.find(record.step);
  if (found != steps_.end() && run_of_.at(record.step) == runs_.size()) return merge(found->second, std::move(record));
  run_of_[record.step] = runs_.size();
  steps_.insert_or_assign(record.step, std::move(record));
}

}  // namespace damaris::hdf5
