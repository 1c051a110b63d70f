#include "reader.hpp"

#include <sys/stat.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

// Limits for messages about damaged lines: a forged manifest may have any number of them, of any length.
constexpr std::size_t kMaxSentences = 100, kMaxSentenceLength = 500;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void add_shards_of(const StepEntry& step, std::set<std::string>& names) {
  for (const Described& one : step.described) names.insert(one.in);
  for (const FilesOfLine& line : step.later)
    for (const Described& one : line.described) names.insert(one.in);
}

// What an unreadable shard names is left out.
void add_known_names_of(const StepEntry& step, ShardReader& shards, std::set<std::string>& names) {
  try {
    add_names_of(step, shards, names);
  } catch (const Error&) {
  } catch (const Failure&) {
  }
}

bool has_files(const Json& line) {
  const auto filled = [&](const char* key) { return line.contains(key) && !line[key].empty(); };
  return filled("files") || filled("described");
}

// Nothing for a damaged line, which Reader reports.
template <class Read>
auto if_readable(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Outline outline_of(const std::string& path) {
  Outline outline;
  std::uint64_t offset = 0;
  bool replaces_all = false;  // the run will, once it has files
  EndOfRun end = EndOfRun::of_earlier_version();
  bool has_steps = false, had_ended = false;  // the last run; the last one before it that has steps
  for_whole_lines(path, 0, [&](const std::string& line) {
    const std::uint64_t begin = offset;
    offset += line.size() + 1;
    const Json json = is_trustworthy(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    const auto text = [&](const char* key) {
      return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
    };
    if (begins_run(line) || (json.is_object() && json.contains("run"))) {
      outline.run = text("run");
      outline.job = text("job");
      outline.regions = text("regions");
      outline.identity = text("identity");
      const std::optional<RunEntry> run = if_readable([&] { return run_from_json(json); });
      outline.servers = run ? run->servers : 0;
      if (has_steps) had_ended = end.has_ended();
      has_steps = !run;
      end = run ? EndOfRun(*run) : EndOfRun();
      outline.joined.clear();
      outline.is_unknown = outline.servers == 0;
      outline.mentions_steps |= outline.is_unknown;
      replaces_all = !outline.is_unknown && text("replaces") == "all";
      outline.begins_at = begin;
      return true;
    }
    if (json.is_object() && (json.contains("joined") || json.contains("ended"))) {
      if (std::string regions = text("regions"); json.contains("joined") && !regions.empty())
        outline.joined.insert(std::move(regions));
      if (const auto entry = if_readable([&] { return *server_entry_from_json(json); })) end.note(*entry);
      return true;
    }
    outline.mentions_steps = has_steps = true;
    if (replaces_all && json.is_object() && has_files(json)) outline.replaced_until = outline.begins_at;
    return true;
  });
  outline.has_ended = has_steps ? end.has_ended() : had_ended;
  return outline;
}

std::set<std::string> files_in_manifest(const std::string& path) {
  std::set<std::string> names;
  ShardReader shards(folder_of(path));
  try {
    for_whole_lines(path, 0, [&](const std::string& line) {
      const Json json = Json::parse(is_trustworthy(line) ? line : "");
      if (json.contains("step")) add_known_names_of(step_from_json(json), shards, names);
      return true;
    });
  } catch (const Failure&) {
    names.clear();
  } catch (const Error&) {
    names.clear();
  } catch (const Json::exception&) {
    names.clear();
  }
  return names;
}

void add_names_of(const StepEntry& step, ShardReader& shards, std::set<std::string>& names) {
  add_shards_of(step, names);
  for (std::string& name : shards.names_of(step)) names.insert(std::move(name));
}

std::optional<std::int64_t> first_stored_step_of_last_run(const std::string& path) try {
  std::optional<std::int64_t> first;
  for_whole_lines(path, outline_of(path).begins_at, [&](const std::string& line) {
    const Json json = is_trustworthy(line) ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
    if (!json.is_object() || !json.contains("step")) return true;
    if (const StepEntry step = step_from_json(json); step.has_files()) first = std::min(first.value_or(step.step), step.step);
    return true;
  });
  return first;
} catch (const Failure&) {
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

Reader::Reader(std::string path) : path_(std::move(path)), shards_(std::make_shared<ShardReader>(folder_of(path_))) {}

std::string Reader::folder() const { return folder_of(path_); }

StepEntry Reader::with_files(std::int64_t step, const std::string& variable) const {
  return shards_->complete(steps_.at(step), variable);
}

std::set<std::string> Reader::replaced() const {
  std::set<std::string> names;
  for (const StepEntry& step : replaced_) {
    add_known_names_of(step, *shards_, names);
  }
  return names;
}

std::string Reader::unreported_servers(std::int64_t step) const {
  return completeness_[run_of_.at(step)].unreported_servers(steps_.at(step));
}

std::vector<std::string> Reader::why_partial(std::int64_t step) const {
  return completeness_[run_of_.at(step)].reasons(steps_.at(step));
}

std::map<std::int64_t, std::vector<std::string>> Reader::not_stored() const {
  std::map<std::int64_t, std::vector<std::string>> why;
  for (const auto& [step, one] : waiting_)
    if (std::vector<std::string> reasons = completeness_[one.run].reasons(one.record); !reasons.empty())
      why.emplace(step, std::move(reasons));
  return why;
}

// All steps are judged again: a new line may record what a server had not reported yet.
void Reader::judge() {
  for (auto& [step, record] : steps_) record.complete = why_partial(step).empty();
}

// A run that replaces all earlier ones renames a new file into place, without their lines.
bool Reader::file_was_replaced() {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0) return false;
  const bool same =
      offset_ == 0 || (now.st_dev == device_ && now.st_ino == inode_ && static_cast<std::uint64_t>(now.st_size) >= offset_);
  device_ = now.st_dev;
  inode_ = now.st_ino;
  return !same;
}

bool Reader::read_on(std::uint64_t end) try {
  if (file_was_replaced()) {
    *this = Reader(path_);
    file_was_replaced();
  }
  const std::uint64_t before = offset_;
  // Line by line: the text of a long run may be larger than its steps in memory.
  bool more = false;
  const bool is_there = for_whole_lines(path_, offset_, [&](const std::string& line) {
    if (offset_ >= end) return false;
    const std::size_t views = view_lines_;
    take_line(line);
    more = more || views == view_lines_;
    offset_ += line.size() + 1;
    ++line_;
    return true;
  });
  if (!is_there) return false;
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  is_cut_off_ = !unknown && size > offset_;
  if (offset_ > before) judge();
  return more;
} catch (const Failure& failure) {
  throw Error(DC_E_IO, "the run recorded in " + path_ + " cannot be read: " + std::strerror(failure.system_error()));
}

// The damaged or missing line may have contradicted any step read so far, or begun a run that replaces it.
void Reader::leave_out(const std::string& why) {
  for (const std::int64_t step : std::exchange(undoubted_, {}))
    if (steps_.count(step) > 0) doubtful_.emplace(step, std::pair(line_, damaged_.size()));
  if (damaged_.size() == kMaxSentences) return void(++more_damaged_);
  damaged_.push_back(path_ + ":" + std::to_string(line_ + 1) + ": " + why.substr(0, kMaxSentenceLength));
}

std::string Reader::damage_since(std::int64_t step) const {
  const auto found = doubtful_.find(step);
  if (found == doubtful_.end()) return "";
  const auto [line, which] = found->second;
  if (which < damaged_.size()) return damaged_[which];
  return path_ + ":" + std::to_string(line + 1) + ": this line is damaged, as are " + std::to_string(damaged_.size()) +
         " before it";
}

void Reader::take_line(const std::string& line) {
  const SealedLines::Verdict verdict = seals_.check(line);
  if (verdict != SealedLines::Verdict::fine) leave_out(SealedLines::sentence(verdict));
  if (verdict != SealedLines::Verdict::changed)
    take_content(line);
  else if (begins_run(line))
    begin_run({}, Completeness::of_unknown_run(), {});
}

void Reader::begin_run(RunEntry&& run, Completeness&& completeness, const EndOfRun& end) {
  if (last_run_has_steps_) end_with_steps_ = end_;
  end_ = end;
  runs_.push_back(std::move(run));
  completeness_.push_back(std::move(completeness));
  last_run_has_steps_ = false;
  first_.reset();
}

void Reader::leave_out_content(const std::string& line, const std::string& why) {
  leave_out(why);
  if (begins_run(line)) begin_run({}, Completeness::of_unknown_run(), {});
}

void Reader::take_content(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    const bool is_run = json.contains("run");
    if (is_run) {
      RunEntry run = run_from_json(json);
      if (!run.regions.empty()) regions_.insert(run.regions);
      Completeness completeness(run);
      const EndOfRun end(run);
      begin_run(std::move(run), std::move(completeness), end);
    }
    // Only a run that replaces all earlier ones removes their lines.
    if (line_ == 0 && seals_.begins_in_the_middle() && !(is_run && runs_.back().replaces_all))
      leave_out("this line is not the first one written: earlier lines are missing");
    if (is_run) return;
    if (const auto entry = server_entry_from_json(json)) {
      if (!entry->regions.empty()) regions_.insert(entry->regions);
      end_.note(*entry);
      return completeness_.back().note(*entry);
    }
    json.contains("view") ? take_view(view_from_json(json)) : take_step(step_from_json(json));
  } catch (const Json::exception&) {
    leave_out_content(line, "this line is damaged: it is not JSON");
  } catch (const Error& error) {
    if (error.code() == DC_E_VERSION) throw Error(DC_E_VERSION, path_ + ":" + std::to_string(line_ + 1) + ": " + error.what());
    leave_out_content(line, error.what());
  }
}

void Reader::take_view(ViewEntry&& view) {
  ++view_lines_;
  views_follow_ = false;
  ViewState& known = views_[view.name];
  if (!known.newest.name.empty()) known.earlier.push_back(known.newest.checksum);
  known.newest = std::move(view);
}

void Reader::take_step(StepEntry&& record) {
  last_run_has_steps_ = views_follow_ = true;
  completeness_.back().note(record);
  const auto is_of_this_run = [&](const auto& entry) { return entry.second == runs_.size(); };
  const bool replaces = first_ && (record.step >= *first_ || (!runs_.empty() && runs_.back().replaces_all));
  if (!replaces && !record.has_files() && !std::all_of(run_of_.begin(), run_of_.end(), is_of_this_run))
    return wait_for_files(std::move(record));
  if (!replaces && record.has_files()) replace_from(record.step);
  add(std::move(record));
}

void Reader::wait_for_files(StepEntry&& record) {
  const auto found = waiting_.find(record.step);
  if (found != waiting_.end() && found->second.run == runs_.size()) return merge(found->second.record, std::move(record));
  const std::int64_t step = record.step;
  waiting_.insert_or_assign(step, Waiting{runs_.size(), false, std::move(record)});
}

// Steps of earlier runs from here on belong to an abandoned course of the simulation. A server that lags behind may record a lower
// step than the first line did.
void Reader::replace_from(std::int64_t first_step) {
  first_ = first_step;
  const bool all = !runs_.empty() && runs_.back().replaces_all;
  if (all) views_.clear();
  for (auto later = all ? run_of_.begin() : run_of_.lower_bound(first_step); later != run_of_.end();)
    if (later->second == runs_.size()) {
      ++later;
    } else {
      const auto replaced = steps_.find(later->first);
      if (replaced->second.has_files()) replaced_.push_back(std::move(replaced->second));
      steps_.erase(replaced);
      doubtful_.erase(later->first);
      later = run_of_.erase(later);
    }
  for (auto& [step, one] : std::exchange(waiting_, {})) {
    const bool is_replaced = all || step >= first_step, is_of_this_run = one.run == runs_.size();
    if (is_replaced && is_of_this_run) add(std::move(one.record));
    if (is_replaced || !(is_of_this_run || one.run_has_files)) continue;
    one.run_has_files = true;
    waiting_.emplace(step, std::move(one));
  }
}

void Reader::add(StepEntry&& record) {
  if (!runs_.empty()) record.declared = runs_.back().declared;
  if (const auto entry = waiting_.find(record.step); entry != waiting_.end() && entry->second.run == runs_.size()) {
    merge(record, std::move(entry->second.record));
    waiting_.erase(entry);
  }
  const auto found = steps_.find(record.step);
  if (found != steps_.end() && run_of_.at(record.step) == runs_.size()) return merge(found->second, std::move(record));
  run_of_[record.step] = runs_.size();
  undoubted_.push_back(record.step);
  steps_.insert_or_assign(record.step, std::move(record));
}

}  // namespace damaris::manifest
