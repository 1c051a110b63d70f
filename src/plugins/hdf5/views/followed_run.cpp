#include "followed_run.hpp"

#include <sys/stat.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "manifest/server_entry.hpp"

namespace damaris::hdf5 {
namespace {

using manifest::Completeness;
using manifest::RunEntry;
using manifest::StepEntry;

constexpr std::size_t kMaxSentences = 100, kMaxSentenceLength = 500;  // as manifest::Reader

// All that decides whether the step is complete.
std::unique_ptr<StepEntry> without_files(const StepEntry& record) {
  auto judged = std::make_unique<StepEntry>();
  judged->step = record.step;
  judged->servers = record.servers;
  judged->reporters = record.reporters;
  judged->complete = record.complete;
  judged->missing = record.missing;
  judged->never_attached = record.never_attached;
  judged->skipped = record.skipped;
  judged->dropped = record.dropped;
  if (!record.failures.empty()) judged->failures = {record.failures.front()};
  return judged;
}

}  // namespace

// A run that replaces all earlier ones renames a new file into place, without their lines.
bool FollowedRun::file_was_replaced() {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0) return false;
  const bool same =
      offset_ == 0 || (now.st_dev == device_ && now.st_ino == inode_ && static_cast<std::uint64_t>(now.st_size) >= offset_);
  device_ = now.st_dev;
  inode_ = now.st_ino;
  return !same;
}

// All steps known until now may be gone, or be others.
void FollowedRun::start_again() {
  std::set<std::int64_t> changed = std::move(changed_);
  for (const auto& [step, one] : steps_) changed.insert(step);
  *this = FollowedRun(path_);
  changed_ = std::move(changed);
  file_was_replaced();
}

bool FollowedRun::read_on() try {
  if (file_was_replaced()) start_again();
  const std::uint64_t before = offset_;
  bool more = false;
  manifest::for_whole_lines(path_, offset_, [&](const std::string& line) {
    const std::size_t views = view_lines_;
    take_line(line);
    more = more || views == view_lines_;
    offset_ += line.size() + 1;
    ++line_;
    return true;
  });
  if (offset_ > before) judge();
  return more;
} catch (const Failure& failure) {
  throw Error(DC_E_IO, "the run recorded in " + path_ + " cannot be read: " + std::strerror(failure.system_error()));
}

std::set<std::int64_t> FollowedRun::take_changed() { return std::exchange(changed_, {}); }

StepEntry FollowedRun::entry(std::int64_t step) {
  const std::vector<std::uint64_t>& lines = lines_.at(step).at;
  if (last_ == nullptr || lines != std::vector<std::uint64_t>{last_at_}) return merged(lines);
  StepEntry entry = std::move(*last_);
  last_.reset();
  return entry;
}

StepEntry FollowedRun::merged(const std::vector<std::uint64_t>& lines) const try {
  std::optional<StepEntry> whole;
  for (const std::uint64_t at : lines) {
    std::string line;
    manifest::for_whole_lines(path_, at, [&](std::string& text) {
      line = std::move(text);
      return false;
    });
    StepEntry one = manifest::step_from_json(Json::parse(manifest::is_trustworthy(line) ? line : ""));
    if (whole)
      manifest::merge(*whole, std::move(one));
    else
      whole = std::move(one);
  }
  return std::move(*whole);
} catch (const Json::exception&) {
  throw Error(DC_E_IO, path_ + ": a line about a step has changed since it was read");
}

void FollowedRun::leave_out(const std::string& why) {
  if (damaged_.size() == kMaxSentences) return void(++more_damaged_);
  damaged_.push_back(path_ + ":" + std::to_string(line_ + 1) + ": " + why.substr(0, kMaxSentenceLength));
}

void FollowedRun::take_line(const std::string& line) {
  using Verdict = manifest::SealedLines::Verdict;
  const Verdict verdict = seals_.check(line);
  if (verdict != Verdict::fine) leave_out(manifest::SealedLines::sentence(verdict));
  if (verdict != Verdict::changed)
    take_content(line);
  else if (manifest::begins_run(line))
    begin_run({}, Completeness::of_unknown_run());
}

void FollowedRun::begin_run(RunEntry&& run, Completeness&& completeness) {
  runs_.push_back(std::move(run));
  completeness_.push_back(std::move(completeness));
  last_run_has_steps_ = false;
  first_.reset();
}

void FollowedRun::take_content(const std::string& line) {
  const auto damaged = [&](const std::string& why) {
    leave_out(why);
    if (manifest::begins_run(line)) begin_run({}, Completeness::of_unknown_run());
  };
  try {
    const Json json = Json::parse(line);
    const bool is_run = json.contains("run");
    if (is_run) {
      RunEntry run = manifest::run_from_json(json);
      Completeness completeness(run);
      begin_run(std::move(run), std::move(completeness));
    }
    if (line_ == 0 && seals_.begins_in_the_middle() && !(is_run && runs_.back().replaces_all))
      leave_out("this line is not the first one written: earlier lines are missing");
    if (is_run) return;
    if (const auto entry = manifest::server_entry_from_json(json)) return completeness_.back().note(*entry);
    if (json.contains("view")) {
      ++view_lines_;
      views_.insert(manifest::view_from_json(json).name);
    } else {
      take_step(manifest::step_from_json(json), codec::crc32(line.data(), line.size()));
    }
  } catch (const Json::exception&) {
    damaged("this line is damaged: it is not JSON");
  } catch (const Error& error) {
    if (error.code() == DC_E_VERSION) throw Error(DC_E_VERSION, path_ + ":" + std::to_string(line_ + 1) + ": " + error.what());
    damaged(error.what());
  }
}

void FollowedRun::take_step(StepEntry&& record, std::uint32_t sum) {
  last_run_has_steps_ = true;
  completeness_.back().note(record);
  const std::int64_t step = record.step;
  const bool has_files = !record.files.empty();
  Lines lines = {runs_.size(), {offset_}, sum, record.time, without_files(record)};
  last_at_ = offset_;
  last_ = std::make_unique<StepEntry>(std::move(record));
  const auto is_of_this_run = [&](const auto& known) { return known.second.run == runs_.size(); };
  const bool replaces = first_ && (step >= *first_ || (!runs_.empty() && runs_.back().replaces_all));
  if (!replaces && !has_files && !std::all_of(lines_.begin(), lines_.end(), is_of_this_run)) {
    const auto found = waiting_.find(step);
    if (found != waiting_.end() && found->second.run == runs_.size()) return join(found->second, std::move(lines));
    waiting_.insert_or_assign(step, std::move(lines));
    return;
  }
  if (!replaces && has_files) replace_from(step);
  add(step, std::move(lines));
}

// Steps of earlier runs from here on belong to an abandoned course of the simulation. A server that lags behind may record a lower
// step than the first line did.
void FollowedRun::replace_from(std::int64_t first_step) {
  first_ = first_step;
  const bool all = !runs_.empty() && runs_.back().replaces_all;
  if (all) views_.clear();
  for (auto later = all ? lines_.begin() : lines_.lower_bound(first_step); later != lines_.end();) {
    if (later->second.run == runs_.size()) {
      ++later;
      continue;
    }
    changed_.insert(later->first);
    steps_.erase(later->first);
    later = lines_.erase(later);
  }
  for (auto& [step, one] : std::exchange(waiting_, {})) {
    const bool is_replaced = all || step >= first_step, is_of_this_run = one.run == runs_.size();
    if (is_replaced && is_of_this_run) add(step, std::move(one));
    if (is_replaced || !(is_of_this_run || one.run_has_files)) continue;
    one.run_has_files = true;
    waiting_.emplace(step, std::move(one));
  }
}

void FollowedRun::join(Lines& into, Lines&& more) {
  if (into.judged == nullptr) into.judged = without_files(merged(into.at));  // all its servers had reported it before
  into.at.insert(into.at.end(), more.at.begin(), more.at.end());
  into.sum = codec::crc32(&more.sum, sizeof(more.sum), into.sum);
  if (!into.time) into.time = more.time;
  manifest::merge(*into.judged, std::move(*more.judged));
}

void FollowedRun::add(std::int64_t step, Lines&& lines) {
  changed_.insert(step);
  if (const auto entry = waiting_.find(step); entry != waiting_.end() && entry->second.run == runs_.size()) {
    join(lines, std::move(entry->second));
    waiting_.erase(entry);
  }
  const auto found = lines_.find(step);
  if (found != lines_.end() && found->second.run == runs_.size()) return join(found->second, std::move(lines));
  lines_.insert_or_assign(step, std::move(lines));
}

// A new line may record what a server had not reported yet. Of a step that all servers of an MPI run have delivered that is over.
void FollowedRun::judge() {
  for (auto& [step, lines] : lines_) {
    Step& known = steps_[step];
    known.time = lines.time;
    if (lines.run > 0) known.declared = runs_[lines.run - 1].declared;
    if (lines.judged == nullptr) continue;
    known.complete = completeness_[lines.run].reasons(*lines.judged).empty();
    const RunEntry* const run = lines.run == 0 ? nullptr : &runs_[lines.run - 1];
    const bool is_known = run != nullptr && !run->run.empty() && !run->apart;
    if (known.complete && is_known && lines.judged->reporters.size() >= static_cast<std::size_t>(run->servers))
      lines.judged.reset();
  }
}

}  // namespace damaris::hdf5
