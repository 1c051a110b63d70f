#include "writer.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <thread>

#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/output_file.hpp"
#include "core/base/text.hpp"
#include "manifest.hpp"
#include "records.hpp"
#include "start.hpp"

namespace damaris::manifest {
namespace {

constexpr std::chrono::milliseconds kStartWait{30'000};
constexpr std::int64_t kEndWaitMs = 2'000;

// Servers without MPI do not know their number: in place each counts those before it. A recovery knows it.
bool is_independent(const dc_host_t& host, Existing existing) {
  return host.communicator == nullptr && (host.server_count == 1 || existing != Existing::recover);
}

RunEntry run_of(const dc_host_t& host, Existing existing) {
  RunEntry run;
  run.run = utc_now_ms() + "-" + host.host_name + "-" + std::to_string(::getpid()) + "-" + std::to_string(host.server_index);
  run.simulation = host.simulation;
  run.apart = is_independent(host, existing);
  run.servers = host.server_count;
  run.job = host.job;
  run.replaces_all = existing == Existing::overwrite || existing == Existing::automatic;
  run.regions = host.regions != nullptr ? host.regions : "";
  const std::string identity = host.run != nullptr ? host.run : host.job;
  run.identity = std::to_string(codec::crc32(identity.data(), identity.size()));
  run.declared = declarations_of(host);
  return run;
}

// The names of the files that a log names; nothing if a record is damaged, and may have named more.
std::optional<std::set<std::string>> files_in(const std::string& path, const LogName& name) try {
  LogReader reader(path, name);
  reader.was_replaced();
  std::set<std::string> names;
  for (std::vector<LogRecord> records; !(records = reader.read_on(1024)).empty();)
    for (const LogRecord& record : records) {
      if (std::holds_alternative<DamagedRecord>(record)) return std::nullopt;
      if (const auto* const step = std::get_if<StepRecord>(&record))
        for (FileEntry& file : reader.files_at(step->place, "")) names.insert(std::move(file.name));
    }
  return names;
} catch (const Error&) {
  return std::nullopt;
}

// Whether the server has ended: its last record, views aside, is `end`.
bool has_ended(const std::string& path) {
  constexpr std::uint64_t kTail = std::uint64_t{64} << 10;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  const std::uint64_t begin = unknown || bytes < kTail ? 0 : bytes - kTail;
  bool is_cut = begin > 0, ended = false;  // the first line
  for_whole_lines(path, begin, [&](const std::string& line) {
    if (const std::string_view kind = kind_of(line); !std::exchange(is_cut, false) && kind != "view") ended = kind == "end";
    return true;
  });
  return ended;
}

}  // namespace

ManifestWriter::ManifestWriter(const dc_host_t& host, const WriterOptions& options, const FileNames& names)
    : host_(host), names_(names), existing_(options.existing), run_(run_of(host, existing_)), forecast_(names.folder()) {
  try {
    const bool waits = !run_.apart && host.server_index > 0;
    const LogName own = {0, host.host_name, host.server_index};
    Started started =
        existing_ == Existing::recover ? start_recovery(names, run_, own) : start(names, run_, own, existing_, waits, kStartWait);
    log_ = std::move(started.log);
    log_name_ = std::move(started.name);
    began_ = started.began;
    is_new_ = !started.came_back && existing_ != Existing::recover;
    log_->reserve();
    if (started.came_back) find_own_files();
    if (started.follows && run_.apart)
      log(1, "the last run of " + names_.of_run("") +
                 " belongs to the same job, and has ended: this is a later run; processes of one run must be attached at the same "
                 "time");
    find_earlier_files(options);
  } catch (const Failure& failure) {
    undo_start();
    throw Error(DC_E_NO_OUTPUT, failure.what());
  } catch (const Error&) {
    undo_start();
    throw;
  }
}

// A start that fails leaves nothing.
void ManifestWriter::undo_start() noexcept try {
  if (is_new_) ::unlink(log_->path().c_str());
  if (began_) StartLock(names_, std::chrono::milliseconds(0)).forget(run_.identity);
} catch (const std::exception&) {  // the file is small, and says nothing to a later run
}

// If a record is damaged, every file may be of this run, so this server removes no file.
void ManifestWriter::find_own_files() {
  std::optional<std::set<std::string>> found = files_in(log_->path(), log_name_);
  replaced_ = !found;
  const std::vector<std::string> all = files_of_earlier_run(names_);
  of_this_run_ = found ? std::move(*found) : std::set<std::string>(all.begin(), all.end());
}

// Now, as files that this run will store have the same names.
void ManifestWriter::find_earlier_files(const WriterOptions& options) {
  if (!options.owns_files) return;
  std::vector<std::string> earlier = files_of_earlier_run(names_);
  const auto is_of_this_run = [&](const std::string& name) { return of_this_run_.count(name) > 0; };
  earlier.erase(std::remove_if(earlier.begin(), earlier.end(), is_of_this_run), earlier.end());
  options.check_earlier(earlier);
  if (run_.replaces_all) earlier_.insert(earlier.begin(), earlier.end());
}

bool ManifestWriter::begin(const std::string& name) noexcept {
  earlier_.erase(name);
  return of_this_run_.erase(name) > 0;
}

// Assumes that the other servers go on to store about as much.
void ManifestWriter::forecast(StepEntry& step) {
  if (step.files.empty() || last_step_ == step.step) return;
  last_step_ = step.step;
  const DiskForecast::Notice notice = forecast_.stored(total_of(step.files).stored_bytes);
  if (notice.kind == DiskForecast::NoticeKind::none) return;
  const bool is_warning = notice.kind == DiskForecast::NoticeKind::warning;
  log(is_warning ? 1 : 2, notice.sentence);
  if (is_warning) step.warnings.push_back(notice.sentence);
}

void ManifestWriter::record(StepEntry& step) {
  forecast(step);
  if (has_left_step_)
    log_->append(back_record(run_));  // else readers would assume that the server had nothing of a step that it left
  has_left_step_ = false;
  log_->append(step);
  has_recorded_ = true;
  if (!step.files.empty()) try {
      replace_earlier_runs();
    } catch (const Failure& failure) {
      log(1, std::string("files of earlier runs stay: ") + failure.what());
    }
}

void ManifestWriter::record(const ViewEntry& view, std::uint64_t shown) { log_->append(view_record(view, shown)); }

// What this server has stored and logged in earlier runs. From the first file of this run on, readers leave it out.
void ManifestWriter::replace_earlier_runs() {
  if (!run_.replaces_all || std::exchange(replaced_, true)) return;
  for (const std::string& name : std::exchange(earlier_, {})) ::unlink((names_.folder() + "/" + name).c_str());
  for (const LogName& name : find_logs(names_.folder(), names_.stem(), true))
    if (name.generation < log_name_.generation && name.host == log_name_.host && name.server == log_name_.server)
      ::unlink(path_of(name).c_str());
  if (!began_) return;
  for (const char* suffix : {".h5", ".xmf", ".jsonl"}) ::unlink(names_.of_run(suffix).c_str());
}

// Those of servers of earlier runs that are not part of this one. Checks the names, because a forged log may name any file.
void ManifestWriter::remove_files_of_others() {
  std::set<std::string> ours, theirs;
  const std::vector<LogName> logs = find_logs(names_.folder(), names_.stem(), true);
  if (!replaced_ || logs.empty() || logs.front().generation >= log_name_.generation) return;
  for (const LogName& name : logs) {
    const bool is_ours = name.generation >= log_name_.generation;
    std::optional<std::set<std::string>> files = files_in(path_of(name), name);
    if (!files && is_ours) return log(1, path_of(name) + " is damaged: files of earlier runs that only other processes wrote stay");
    if (files) (is_ours ? ours : theirs).merge(*files);
  }
  for (const std::string& name : theirs)
    if (ours.count(name) == 0 && names_.is_of_run(name)) ::unlink((names_.folder() + "/" + name).c_str());
  for (const LogName& name : logs)
    if (name.generation < log_name_.generation) ::unlink(path_of(name).c_str());
}

// Whether this server is the one that ends the run. Under MPI that is server 0: all steps are recorded by now, and it waits for the last
// records of the others. Else it is the last one to end; of two that end at once both may be: what they do then has the same result.
bool ManifestWriter::ends_run() const {
  const bool waits = !run_.apart && existing_ != Existing::recover;
  std::vector<std::string> others;
  for (const LogName& name : find_logs(names_.folder(), names_.stem(), true)) {
    if (name.generation > log_name_.generation) return false;
    if (name.generation == log_name_.generation && !(name == log_name_)) others.push_back(path_of(name));
  }
  for (const Deadline deadline = Deadline::after_ms(kEndWaitMs);; std::this_thread::sleep_for(kLookEvery)) {
    while (!others.empty() && (holder_of(others.back()) == Holder::none || has_ended(others.back()))) others.pop_back();
    if (others.empty() || !waits || deadline.expired()) return others.empty() || waits;
  }
}

// For people and jq: a line for each step, without its files.
void ManifestWriter::write_list() const {
  Manifest manifest(names_.of_run(""), Manifest::kAll, true);
  manifest.read_on();
  if (!manifest.last_run_has_steps()) return;
  const std::string path = names_.of_run(".jsonl");
  OutputFile file(names_.hidden(".jsonl." + log_name_.host + ".tmp." + std::to_string(::getpid())), path);
  for (const auto& [number, step] : manifest.steps()) {
    Json json = to_json(step);
    if (const std::vector<std::string> why = manifest.why_partial(number); !why.empty()) json["partial"] = why;
    file.append(text_of(json) + "\n");
  }
  file.publish(true);
}

// Where a server without a log counts as one that is not part of the run.
bool ManifestWriter::leaves_no_trace(bool has_unstored_steps) const {
  const bool is_alone = run_.apart || run_.servers == 1;
  return is_alone && is_new_ && !has_recorded_ && !has_unstored_steps && host_.lost_count == 0 && host_.never_attached == 0;
}

void ManifestWriter::finish(bool has_unstored_steps, const std::function<void()>& finish_views) {
  if (leaves_no_trace(has_unstored_steps)) return undo_start();
  if (!has_unstored_steps) record_end();
  if (run_.apart || existing_ == Existing::recover || host_.server_index == 0) end_run(finish_views);
  log_->end();
}

void ManifestWriter::record_end() {
  for (const Deadline deadline = Deadline::after_ms(kEndWaitMs);; std::this_thread::sleep_for(kLookEvery)) try {
      return log_->append(end_record(losses_of(host_), existing_ == Existing::recover));
    } catch (const Failure& failure) {
      if (!may_be_transient(failure.system_error()) || deadline.expired())
        throw Failure(std::string("the manifest lacks the end of the run: ") + failure.what(), failure.system_error());
    }
}

void ManifestWriter::end_run(const std::function<void()>& finish_views) {
  {
    const StartLock lock(names_, kStartWait);  // a process that starts may store files with the names of those that are removed
    const bool ends = ends_run();
    if (ends) remove_files_of_others();
    lock.forget(run_.identity);
    if (!ends) return;
  }
  finish_views();
  try {
    write_list();
  } catch (const std::exception& failure) {
    log(1, std::string("the list of all steps is not written: ") + failure.what());
  }
}

}  // namespace damaris::manifest
