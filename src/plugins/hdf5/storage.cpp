#include "storage.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "layout/place_warnings.hpp"
#include "manifest/output_folder.hpp"
#include "shared/team.hpp"
#include "start_checks.hpp"
#include "views/run_views.hpp"
#include "write/step_file.hpp"

namespace damaris::hdf5 {
namespace {

double seconds_between(Instant from, Instant to) { return std::chrono::duration<double>(to - from).count(); }

Instant completed(const dc_step_t& step, Instant now) {
  return now - std::chrono::duration_cast<Instant::duration>(std::chrono::duration<double>(step.age_s));
}

manifest::StepEntry record_of(const dc_host_t& host, const dc_step_t& step, bool recovered) {
  manifest::StepEntry record;
  record.recovered = recovered;
  record.step = step.step;
  if (step.has_time != 0) record.time = step.time;
  record.servers = {host.server_index};
  record.absent.assign(step.absent, step.absent + step.absent_count);
  record.missing.assign(step.missing, step.missing + step.missing_count);
  for (std::size_t i = 0; i < step.skipped_count; ++i) record.skipped.push_back(host.variables[step.skipped[i]].path);
  std::sort(record.skipped.begin(), record.skipped.end());
  record.dropped = step.dropped != 0;
  record.reduced = step.reduced != 0;
  record.waits = step.waits;
  record.spilled_bytes = step.spilled_bytes;
  record.never_attached = step.never_attached;
  for (std::size_t i = 0; i < step.plugin_failure_count; ++i) record.warnings.emplace_back(step.plugin_failures[i]);
  record.failures.assign(step.refused, step.refused + step.refused_count);
  record.complete = record.failures.empty() && step.missing_count == 0 && step.never_attached == 0 && step.skipped_count == 0;
  return record;
}

}  // namespace

Storage::Storage(const dc_host_t& host)
    : host_(host),
      settings_(read_settings(host)),
      names_(settings_.basename, name_part(host, settings_)),
      writer_(settings_.filters, settings_.threads, MemoryBound(settings_.memory_bytes)),
      retry_(settings_.retry_ms) {
  continues_ = !settings_.restart.empty() && same_place(settings_.restart, settings_.basename);
  check_names(host);
  check_types(host);
  warn_of_cut_chunks(host, MemoryBound(settings_.memory_bytes));
  const manifest::FileNames own(settings_.basename, host.host_name, host.server_index);
  manifest::check_can_write(own);
  clean_up(host, own);
  const auto record_view = [this](const manifest::ViewEntry& view, std::uint64_t shown) { manifest_->record(view, shown); };
  views_ = std::make_unique<RunViews>(host_, names_.of_run(""), MemoryBound(settings_.memory_bytes).views_bytes(),
                                      Instant::clock::now, record_view, settings_.existing == manifest::Existing::recover);
  const auto check_earlier = [this](const std::vector<std::string>& earlier) {
    check_earlier_files(host_, settings_, names_, earlier);
  };
  const bool owns_files = settings_.files == Files::per_server || group_of(host, settings_).leader() == host.server_index;
  manifest_.emplace(host, manifest::WriterOptions{settings_.existing, owns_files, check_earlier}, names_);
  if (!settings_.restart.empty()) {
    restart_.emplace(settings_.restart, continues_ ? manifest_->generation() : manifest::Manifest::kAll);
    restart_->report_to([this](const std::string& line) { log(1, line); });
  }
  if (settings_.files == Files::per_server)
    schedule_ = make_schedule(host, settings_);
  else
    share();
}

// The leader creates the files of its group, and removes those that another leader left.
void Storage::share() {
  const Group group = group_of(host_, settings_);
  if (host_.server_index == group.leader()) clean_up(host_, names_);
  shared_ = std::make_unique<SharedFiles>(host_, settings_, names_, [this](const std::string& name) { manifest_->begin(name); });
  const auto attend = [this](std::int64_t step, const std::string& why_not) { shared_->attend(step, why_not); };
  schedule_ = std::make_unique<Agreement>(host_, group, settings_.turn_timeout_ms, attend);
}

void Storage::read(const dc_read_t& read) { restart().read(read); }

RestartReader& Storage::restart() {
  if (!restart_) throw Error(DC_E_CONFIG, "the XML names no run to read from; give its basename: <hdf5 restart=\"out/storm\"/>");
  return *restart_;
}

void Storage::receive(int from, const std::string& message) { schedule_->receive(from, message); }

void Storage::passed(std::int64_t step) { schedule_->passed(step); }

int Storage::store(const dc_step_t& step) {
  const Instant now = Clock::now();
  if (!current_) current_.emplace(CurrentStep{{}, completed(step, now), now});
  CurrentStep& current = *current_;
  if (retry_.resting(now) && !current.file && !is_last_try(step))
    return shared_ && !current.lacks_record() ? DC_WAIT : waits(current.trouble);
  Instant recording = now;
  try {
    if (current.state == State::waiting && !begin(step, now)) return DC_WAIT;
    if (current.state == State::writing && !write(step)) return DC_AGAIN;
    recording = Clock::now();
    manifest_->record(current.record);
    if (host_.server_index == 0) views_->manifest_changed();
  } catch (const SharedFailure& failure) {
    return failed(step, failure, failure.agreed());
  } catch (const Failure& failure) {
    if (current.lacks_record()) return not_recorded(step, failure, recording);
    return failed(step, failure, shared_ ? Vote::give_up : vote_after(failure, step));
  } catch (const Error& error) {
    return lose(step, error.code(), error.sentence());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return lose(step, DC_E_PLUGIN, names_.final_path(step.step) + " is not stored: " + error.what());
  }
  return end();
}

RunViews::Work Storage::work() { return views_->work(); }

void Storage::finish() {
  manifest_->finish(has_unstored_steps(), [this] { views_->finish(); });
}

// Returns false while another server has the turn to write. Begins anew after a failure.
bool Storage::begin(const dc_step_t& step, Instant now) {
  if (step.dataset_count > 0 && !schedule_->may_write(step, now)) return false;
  current_->attempt = now;
  if (!current_->begun) {
    current_->begun = now;
    current_->warnings = unplaced_blocks(step, unplaced_);
    for (const std::string& warning : current_->warnings) log(1, "step " + std::to_string(step.step) + ": " + warning);
  }
  current_->record = record_of(host_, step, settings_.existing == manifest::Existing::recover);
  current_->record.waited_s = seconds_between(current_->seen, *current_->begun);
  current_->error.reset();
  current_->record.warnings.insert(current_->record.warnings.end(), current_->warnings.begin(), current_->warnings.end());
  if (!shared_)  // else what the servers agree on says it
    for (const std::string& sentence : hidden_values(step)) skip(NotStorable(sentence));
  current_->state = State::writing;
  return true;
}

// Returns false if more is left of the file: call again.
bool Storage::write(const dc_step_t& step) {
  std::unique_ptr<StepFile> file = std::move(current_->file);  // removed if it fails, before anything else is written
  if (!file && step.dataset_count > 0) {
    schedule_->begin(step.step);
    manifest_->prepare();
    if (shared_)
      current_->record.files.push_back(write_shared_file(step));
    else
      file = std::make_unique<StepFile>(host_, writer_, names_, step);
  }
  while (file && !file->write_more(step, [this](const NotStorable& why) { skip(why); })) {
    if (in_place()) continue;  // the simulation waits for it
    current_->file = std::move(file);
    return false;
  }
  if (file && file->is_empty() && current_->error) throw Error(*current_->error);
  if (file) publish(*file, step);
  current_->state = State::published;
  if (retry_.failed() > 0) log(2, "step " + std::to_string(step.step) + " is stored after " + retry_.tries_text(Clock::now()));
  current_->record.retries = retry_.failed();
  retry_.next_thing();  // the record has what is left of the time
  if (!current_->record.files.empty() && continues_)
    restart_->replace_from(step.step);  // even if the record fails: the file is in place
  finish_record(step);
  return true;
}

// The step is recorded. A recovery has stored what can be stored, and recorded what cannot: to fail would keep the blocks for another one
// for ever.
int Storage::end() {
  if (retry_.failed() > 0) log(2, "the manifest is up to date after " + retry_.tries_text(Clock::now()));
  const bool is_lost = current_->state == State::lost;
  const std::optional<Error> error = std::move(current_->error);
  current_.reset();
  is_lost ? retry_.next_thing() : retry_.stored();
  if (!error || (!is_lost && settings_.existing == manifest::Existing::recover)) return DC_OK;
  host_.fail(host_.self, error->what());
  return error->code();
}

// A file without a record is not durable, and a step is not given up without one: it waits until the log takes it.
int Storage::not_recorded(const dc_step_t& step, const Failure& failure, Instant begun) {
  (void)retry_.again(failure.system_error(), current_->complete, begun, Clock::now());
  const std::string what =
      "step " + std::to_string(step.step) + " cannot be recorded: " + failure.what() + "; " + remedy_for(failure.system_error());
  if (retry_.failed() == 1) log(1, what + "; retrying");
  host_.waits(host_.self, ("which retries the record of step " + std::to_string(step.step)).c_str());
  const std::string before = current_->state == State::lost ? std::string(current_->error->what()) + "; also: " : "";
  return waits(before + what);
}

// The sentence must be given to the host with each call.
int Storage::waits(const std::string& why) {
  current_->trouble = why;
  host_.fail(host_.self, why.c_str());
  return DC_WAIT;
}

// What this server wants to do about it. A step is not left where no recovery would find its data.
Vote Storage::vote_after(const Failure& failure, const dc_step_t& step) {
  const bool again = retry_.again(failure.system_error(), current_->complete, current_->attempt, Clock::now());
  if (!again || is_last_try(step)) return Vote::give_up;
  return step.ending != 0 ? Vote::leave : Vote::again;
}

// After a recovery what it could not store is there for another one, so the manifest does not record it as lost.
bool Storage::stays_in_region(const Failure& failure) const {
  const int error = failure.system_error();
  return settings_.existing == manifest::Existing::recover && (may_be_transient(error) || error == kOwnedByOther);
}

// Releases the grant while this server waits for the next attempt.
int Storage::failed(const dc_step_t& step, const Failure& failure, Vote agreed) {
  const Instant now = Clock::now();
  const std::string what = names_.final_path(step.step) + " is not stored: " + failure.what();
  const std::string remedy = "; " + remedy_for(failure.system_error());
  current_->state = State::waiting;
  if (agreed == Vote::again || agreed == Vote::leave) {
    schedule_->written(seconds_between(current_->attempt, now));
    schedule_->again(step.step);
    if (retry_.failed() == 1) log(1, what + "; retrying" + remedy);
    const std::string text = "which retries step " + std::to_string(step.step) + " (" + retry_.tries_text(now) +
                             "): " + std::strerror(failure.system_error());
    host_.waits(host_.self, text.c_str());
    if (agreed == Vote::again && shared_) return DC_WAIT;  // all servers or none leave it
    return waits(what + " after " + retry_.tries_text(now) + remedy);
  }
  current_->record.retries = retry_.failed() - 1;
  const std::string tries = retry_.failed() > 1 ? "; abandoned after " + retry_.tries_text(now) : "";
  if (!stays_in_region(failure)) return lose(step, DC_E_IO, what + tries + remedy);
  has_left_steps_ = true;
  manifest_->leave_step();
  current_.reset();
  retry_.next_thing();
  host_.fail(host_.self, (what + tries + remedy).c_str());
  return DC_E_IO;
}

// The step is given up once the log has its record.
int Storage::lose(const dc_step_t& step, dc_code code, const std::string& sentence) {
  current_->record.complete = false;
  std::vector<std::string>& failures = current_->record.failures;  // a skipped dataset is already listed
  if (std::find(failures.begin(), failures.end(), sentence) == failures.end()) failures.push_back(sentence);
  current_->error.emplace(code, sentence);
  current_->state = State::lost;
  retry_.next_thing();
  finish_record(step);
  return DC_AGAIN;
}

void Storage::warn_of_replaced(const std::string& file) {
  manifest::StepEntry& record = current_->record;
  record.warnings.push_back("step " + std::to_string(record.step) + " is stored once more: " + file +
                            ", which this server had stored in this run before it came back, is replaced");
  log(1, record.warnings.back());
}

void Storage::finish_record(const dc_step_t& step) {
  manifest::StepEntry& record = current_->record;
  record.stored_s = seconds_between(*current_->begun, Clock::now());
  record.memory_bytes = resident_bytes();
  record.at = utc_now_ms();
  if (record.recovered && !record.complete) host_.partial(host_.self, step.step);
  if (step.dataset_count > 0)
    schedule_->written(record.stored_s);
  else
    schedule_->passed(step.step);
}

manifest::FileEntry Storage::write_shared_file(const dc_step_t& step) {
  const auto check = [&] { check_block_checksums(step); };
  const auto vote = [&](const Failure& failure) { return vote_after(failure, step); };
  manifest::FileEntry entry = shared_->write(step, check, vote);
  for (const Overlap& overlap : shared_->hidden_blocks())
    skip(NotStorable(hidden_text(*overlap.variable, {overlap.hidden.source, overlap.hidden.block},
                                 {overlap.shown.source, overlap.shown.block}, overlap.hidden.box)));
  return entry;
}

void Storage::publish(StepFile& file, const dc_step_t& step) {
  std::vector<manifest::FileEntry>& files = current_->record.files;
  files.push_back(file.publish(settings_.existing != manifest::Existing::refuse));
  const manifest::FileEntry& entry = files.back();
  const bool replaced = manifest_->begin(entry.name);
  if (replaced) warn_of_replaced(entry.name);
  std::uint64_t raw_bytes = 0;
  for (const manifest::DatasetEntry& dataset : entry.datasets) raw_bytes += dataset.raw_bytes;
  host_.stored(host_.self, names_.final_path(step.step).c_str(), entry.bytes, raw_bytes);
}

// Omits only the dataset that cannot be stored as declared: the step is partial, and its clients get the error.
void Storage::skip(const NotStorable& why) {
  if (!current_->error) current_->error.emplace(why);
  current_->record.complete = false;
  current_->record.failures.push_back(why.sentence());
}

}  // namespace damaris::hdf5
