#include "writer.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>
#include <new>
#include <thread>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "output_folder.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(5);
// For the lock. In place the simulation waits, so its steps are rather retried; at the start it has time.
constexpr std::chrono::milliseconds kLockWait{30'000}, kLockWaitInPlace{1'000};

std::string run_id(const dc_host_t& host) {
  return utc_now_ms() + "-" + host.host_name + "-" + std::to_string(::getpid()) + "-" + std::to_string(host.server_index);
}

// The destructor of Json takes memory, and ends the process where there is none. So see first that there is enough for the text of a line
// and what it is made from; a step that does not get it is reported later.
void require_memory_for(const StepEntry& record) {
  constexpr std::size_t kLine = 65'536, kDataset = 4'096, kLayer = 64;
  std::size_t bytes = kLine;
  for (const FileEntry& file : record.files)
    for (const DatasetEntry& dataset : file.datasets) bytes += kDataset + kLayer * dataset.sources.size();
  ::operator delete(::operator new(bytes));
}

// Identifies this run among all runs on this machine.
std::string identity_of(const dc_host_t& host) { return host.run != nullptr ? host.run : host.job; }

// Whether messages reach the other servers: they do not in place, nor without MPI. The first message has the prefix of this
// server's files, so that they are not taken for an earlier run's.
bool greet(const dc_host_t& host, const FileNames& names) {
  if (host.server_count == 1) return true;
  const std::string hello = text_of({{"prefix", names.prefix()}});
  const int other = host.server_index == 0 ? 1 : 0;
  return host.send != nullptr && host.send(host.self, other, hello.data(), hello.size()) == DC_OK;
}

}  // namespace

ManifestWriter::ManifestWriter(const dc_host_t& host, const WriterOptions& options, const FileNames& names)
    : host_(host),
      names_(names),
      existing_(options.existing == Existing::automatic ? Existing::overwrite : options.existing),
      requires_end_(options.existing == Existing::automatic),
      run_{run_id(host),
           host.simulation,
           host.server_count,
           host.job,
           existing_ == Existing::overwrite,
           host.regions != nullptr ? host.regions : ""},
      connected_(greet(host, names)),
      own_files_(names, existing_ == Existing::overwrite),
      lock_wait_(kLockWait),
      end_wait_ms_(options.end_wait_ms),
      collector_(connected_ ? host.server_count : 1),
      shard_(names.shard_start(host.host_name, host.server_index)),
      unrecorded_(names, {entry_host(), host.server_index}, run_.regions),
      retry_(options.retry_ms),
      forecast_(names.folder()),
      members_(names.of_run(".jsonl")),
      prefixes_{names.prefix()} {
  run_.apart = apart();
  if (run_.apart) run_.servers = 1;  // their number is unknown
  run_.host = entry_host();
  run_.first_server = host.server_index;
  const std::string identity = identity_of(host);
  run_.identity = std::to_string(codec::crc32(identity.data(), identity.size()));
  run_.declared = declarations_of(host);
  if (!keeps_manifest()) {
    options.check_earlier(own_files_.of_earlier_runs());
    return;
  }
  const auto record_view = [this](const ViewEntry& view, const std::function<void()>& then) { append(to_json(view), then); };
  views_ = options.make_views(record_view);
  try {
    open(options.check_earlier);
    if (existing_ == Existing::recover) record_recovered_steps(options.given_up);
  } catch (const Failure& failure) {
    throw Error(DC_E_NO_OUTPUT, failure.what());
  }
  if (run_.regions.empty()) wait_for_lock(kLockWaitInPlace);
}

void ManifestWriter::wait_for_lock(std::chrono::milliseconds at_most) {
  lock_wait_ = at_most;
  if (lock_ != nullptr) lock_->wait_at_most(at_most);
}

// In place a process ends with many steps, and each may find the lock taken, or the manifest refused.
std::chrono::milliseconds ManifestWriter::end_left() {
  if (!end_) end_ = Deadline::after_ms(end_wait_ms_);
  return std::chrono::milliseconds(end_->left_ms(end_wait_ms_));
}

bool ManifestWriter::apart() const {
  return host_.communicator == nullptr && (host_.server_count == 1 || (!connected_ && existing_ != Existing::recover));
}

// A failure here only endangers the record of the step, so it is no reason to fail the step.
void ManifestWriter::add_unrecorded(const Json& line) {
  if (!notes_all()) return;
  try {
    unrecorded_.add(line);
  } catch (const Failure& failure) {
    warn(failure.what());
  }
}

void ManifestWriter::open(const CheckEarlier& check_earlier) {
  const std::string path = names_.of_run(".jsonl");
  acquire_lock(path);
  const RunLock::Guard guard(*lock_, std::adopt_lock);
  require_own_manifest(path);
  if (requires_end_ && !was_open_ && lock_->is_first())
    if (const Outline last = outline_of(path); last.mentions_steps && !last.has_ended) throw unended_run(path);
  const bool again = was_open_, goes_on = existing_ == Existing::append && !again;
  if (!again && !lock_->is_first()) own_files_.join(path, outline_of(path).begins_at);
  if (!again) check_earlier(own_files_.of_earlier_runs());
  const bool begins = goes_on || (existing_ == Existing::overwrite && !again);
  const Outline earlier = begins || again ? outline_of(path) : Outline{};
  const bool took_part = begins && Members(path).has(host_.host_name, host_.server_index);
  if (again) require_same_run(earlier, run_);
  std::vector<UnrecordedSteps> lists;
  if (again || (goes_on && lock_->is_first())) lists = UnrecordedSteps::find_all(names_, earlier.regions, earlier.servers);
  if (goes_on && lock_->is_first())
    for (UnrecordedSteps& list : UnrecordedSteps::find_apart(names_)) lists.push_back(std::move(list));
  const std::vector<Json> of_earlier = lines_of_earlier(lists);
  file_.reset();  // first: its destructor would close the new descriptor if that got the number of the old one
  file_ = std::make_unique<ManifestFile>(path, existing_, *lock_, run_, again, of_earlier);
  if (!again && (!file_->is_first() || existing_ == Existing::recover)) run_.run = outline_of(path).run;
  if (std::exchange(was_open_, true)) views_->reset();
  if (again) warn_of_moved(path);
  if (goes_on && file_->is_first())
    for (const UnrecordedSteps& list : lists) list.remove();
  if (begins && file_->is_first()) warn_of_own_job(earlier, took_part);
  if (joins(path, again)) append_joined();
}

void ManifestWriter::append_joined() {
  ServerEntry entry;
  entry.server = host_.server_index;
  entry.host = host_.host_name;
  entry.regions = run_.regions;
  file_->append(to_json(entry));
}

// A recovery is none of the run's processes. One that opens the manifest again has joined or begun it before, unless it is a new
// manifest, which any of them may have begun: a second line would say that it came back without having ended.
bool ManifestWriter::joins(const std::string& record, bool again) const {
  if (!apart() || existing_ == Existing::recover) return false;
  return again ? !Members(record).has(host_.host_name, host_.server_index) : !file_->is_first();
}

// No warning if another process of the run has copied the lines into the current file.
void ManifestWriter::warn_of_moved(const std::string& record) {
  if (recorded_.empty()) return;
  const RecordedSteps recorded = steps_of_last_run(record);
  if (apart() ? recorded.by({entry_host(), host_.server_index}, recorded_.last()) : recorded.has(recorded_.last())) return;
  warn("the manifest " + record + " was moved or removed: a new one is begun, and only the old one records " + recorded_.text());
  recorded_ = {};
}

// Only informative for a process that took part in that run and begins alone: it may have been restarted.
void ManifestWriter::warn_of_own_job(const Outline& earlier, bool took_part) const {
  if (!apart() || !earlier.mentions_steps || earlier.identity != run_.identity) return;
  const bool replaces_all = existing_ == Existing::overwrite;
  log(took_part && (replaces_all || host_.server_count == 1) ? 2 : 1,
      "the last run in " + names_.of_run(".jsonl") + " belongs to the same job, and has ended: this is a later run, which " +
          (replaces_all ? "replaces it completely when it stores its first step"
                        : "replaces its steps from the first one that this run stores") +
          "; processes of one run must be attached at the same time");
}

// Acquires the exclusive lock. Creates the lock file again if it was removed, for instance with its folder.
void ManifestWriter::acquire_lock(const std::string& record) {
  if (lock_ != nullptr && !lock_->is_gone()) return lock_->lock();
  file_.reset();
  lock_.reset();
  const std::string member = std::string(host_.host_name) + ".s" + std::to_string(host_.server_index);
  lock_ = std::make_unique<RunLock>(record, identity_of(host_), member, shared(), lock_wait_);
}

void ManifestWriter::report(StepEntry&& record, Instant since) {
  require_memory_for(record);
  record.reporters = {{entry_host(), host_.server_index}};
  add_unrecorded(to_json(record));
  if (existing_ == Existing::recover) return collect_whole(std::move(record), since);
  std::string facts = facts_;
  ServerReport report = report_of(record, host_.server_index, keeps_manifest(), facts);
  if (!keeps_manifest()) {
    // Unless it is sent, the next report brings the facts again.
    if (send_to_keeper(to_message(report), "of step " + std::to_string(record.step))) facts_ = std::move(facts);
    return;
  }
  collector_.add(connected_ ? host_.server_index : 0, std::move(report));
  due_since_ = since;
}

void ManifestWriter::take_due() {
  const std::size_t before = lines_.size();
  collector_.move_ready(lines_);
  if (lines_.size() > before) since_ = due_since_;
  for (std::size_t i = before; i < lines_.size(); ++i) forecast(lines_[i]);
}

// If each server adds its own lines, assumes that the others store about as much.
void ManifestWriter::forecast(DueStep& due) {
  if (!due.has_files()) return;
  StepEntry& step = due.step;
  const std::uint64_t bytes = step.total.stored_bytes + total_of(step.files).stored_bytes;
  const std::uint64_t writers = apart() ? members_.recent_count() : connected_ ? 1 : static_cast<std::uint64_t>(host_.server_count);
  const DiskForecast::Notice notice = forecast_.stored(bytes * writers);
  if (notice.kind == DiskForecast::NoticeKind::none) return;
  const bool is_warning = notice.kind == DiskForecast::NoticeKind::warning;
  log(is_warning ? 1 : 2, notice.sentence);
  if (is_warning) step.warnings.push_back(notice.sentence);
}

bool ManifestWriter::write(bool last) {
  try {
    return try_lines(last);
  } catch (const Failure& failure) {
    if (must_insist() && !last) return insist(failure);
    retry_.next_thing();
    send_to_others({{"misses", steps_text(lines_) + ": " + failure.what()}});
    const DueStep& due = lines_.front();
    throw Failure("step " + std::to_string(due.step.step) + outcome_of(due) + " the manifest cannot record it: " + failure.what() +
                      "; its line is kept and retried with the next one",
                  failure.system_error());
  }
}

bool ManifestWriter::insist(const Failure& failure) {
  retry_.insist(Clock::now());
  const std::string before = std::exchange(refusal_, "the manifest " + names_.of_run(".jsonl") + " cannot record step " +
                                                         std::to_string(lines_.front().step.step) + ": " + failure.what() +
                                                         "; nor can it be noted beside it: " + note_refusal_ +
                                                         "; the step stays in the buffer, and is retried beyond retry=\"...\"");
  if (before != refusal_) warn(refusal_);
  return false;
}

bool ManifestWriter::try_lines(bool last) {
  take_due();
  if (lines_.empty()) return true;
  const Instant begun = Clock::now();
  if (last) wait_for_lock(end_left());
  if (retry_.resting(begun) && !last) return false;
  const std::string record = "the manifest " + names_.of_run(".jsonl");
  try {
    write_lines();
  } catch (const Failure& failure) {
    if (!retry_.again(failure.system_error(), since_, begun, Clock::now()) || last) throw;
    refusal_ = record + " cannot record step " + std::to_string(lines_.front().step.step) + " yet: " + failure.what();
    if (retry_.failed() == 1) warn(refusal_ + "; retrying");
    return false;
  }
  if (retry_.failed() > 0) log(2, record + " is up to date after " + retry_.effort(Clock::now()));
  retry_.stored();
  if (host_.server_index == 0)
    views_->manifest_changed();  // of several processes in place that share the manifest, only one updates the views before the end
  return true;
}

// Retries lines that were due by messages of other servers.
Views::Work ManifestWriter::work() {
  if (views_ == nullptr) return Views::Work::none;
  if (retry_.failed() > 0 && !write()) return Views::Work::later;
  return views_->work();
}

// Reopens the manifest if another process of this run replaced it.
void ManifestWriter::append(const std::function<std::vector<Json>()>& lines, const std::function<void()>& then) {
  constexpr int kTries = 10;
  for (int tries = 0; file_ == nullptr || !file_->append(lines(), then); ++tries) {
    if (tries == kTries) throw_system_failure(ENOENT, "add to the manifest", names_.of_run(".jsonl"));
    open();
  }
}

void ManifestWriter::append(const std::vector<Json>& lines) {
  append([&] { return lines; });
}

void ManifestWriter::append(const Json& line, const std::function<void()>& then) {
  append([&] { return std::vector<Json>{line}; }, then);
}

// A step that a shard describes already keeps that, unless the file is gone.
void ManifestWriter::describe(DueStep& due) {
  if (due.files.empty() || (!due.step.described.empty() && !shard_.is_gone())) return;
  due.step.described.clear();
  due.step.described.push_back(shard_.append(due.files));
}

// The shard first: a line never names bytes that are not durable.
void ManifestWriter::append_step(DueStep& due) {
  append([&] {
    describe(due);
    return std::vector<Json>{to_json(due.step)};
  });
}

void ManifestWriter::write_lines() {
  if (file_ == nullptr || file_->is_gone()) open();
  while (!lines_.empty()) {
    require_memory_for(lines_.front().step);
    append_step(lines_.front());
    recorded_.add(lines_.front().step.step);
    const bool replaces = lines_.front().has_files();
    lines_.pop_front();
    if (noted_ > 0 && --noted_ == 0) unrecorded_.clear();
    if (replaces) replace_earlier_runs();
  }
}

// Call after all lines of this server, and the views: from then on the run is complete.
void ManifestWriter::append_end() {
  if (file_ == nullptr) open();  // the file was gone when a view's line was added
  ServerEntry entry = {ServerEntry::What::ended, host_.server_index, host_.host_name, losses_of(host_)};
  entry.all = connected_ && host_.server_count > 1 && collector_.has_all_from_others();
  entry.recovered = existing_ == Existing::recover;
  append(to_json(entry));
}

void ManifestWriter::finish(bool leaves_steps) {
  if (!keeps_manifest()) return own_files_.remove_earlier();
  if (leaves_steps && file_ != nullptr) file_->keep_run();
  wait_for_lock(end_left());
  take_due();
  if (const std::size_t before = lines_.size(); collector_.move_rest(lines_), lines_.size() > before) since_ = Clock::now();
  retry_.end_within(leaves_steps ? 0 : end_left().count(), Clock::now());
  try {
    const auto write_all_lines = [&] {
      while (!try_lines()) std::this_thread::sleep_for(kLookEvery);  // no client is served any more
    };
    write_all_lines();
    if (connected_) record_steps_of_dead_servers();
    write_all_lines();
  } catch (const Failure& failure) {
    if (!leaves_steps) note_lines();
    if (file_ != nullptr) file_->keep_run();  // by it the next run knows the notes
    throw Failure("the manifest lacks " + (lines_.empty() ? "the end of the run" : steps_text(lines_)) + ": " + failure.what(),
                  failure.system_error());
  }
  for (int server = 0; connected_ && server < host_.server_count; ++server)
    if (const UnrecordedSteps one(names_, {"", server}, run_.regions); replaced_ || one.exists()) one.remove();
  if (apart() && (replaced_ || unrecorded_.exists())) unrecorded_.remove();
  std::exception_ptr no_views;
  try {
    views_->finish();
  } catch (...) {
    no_views = std::current_exception();
  }
  if (!leaves_steps) insist_on_end();
  if (no_views) std::rethrow_exception(no_views);
}

void ManifestWriter::insist_on_end() {
  for (const Instant since = Clock::now();;) try {
      return append_end();
    } catch (const Failure& failure) {
      if (!retry_.again(failure.system_error(), since, since, Clock::now())) {
        if (file_ != nullptr) file_->keep_run();
        throw Failure(std::string("the manifest lacks the end of the run: ") + failure.what(), failure.system_error());
      }
      std::this_thread::sleep_for(kLookEvery);
    }
}

}  // namespace damaris::manifest
