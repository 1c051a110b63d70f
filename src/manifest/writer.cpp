#include "writer.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <thread>
#include <utility>

#include "codec/checksum.hpp"
#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "output_folder.hpp"
#include "sealed_line.hpp"

namespace damaris::manifest {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(5);

std::string run_id(const dc_host_t& host) {
  return utc_now_ms() + "-" + host.host_name + "-" + std::to_string(::getpid()) + "-" + std::to_string(host.server_index);
}

// What distinguishes the processes of this run from those of any other, on this machine alone.
std::string identity_of(const dc_host_t& host) { return host.run != nullptr ? host.run : host.job; }

// Whether messages get to the other servers: they do not in place, nor without MPI. The first message says where files of this
// server are, so that nobody takes them for an earlier run's.
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
      existing_(options.existing),
      run_{run_id(host),
           host.simulation,
           host.server_count,
           host.job,
           options.existing == Existing::overwrite,
           host.regions != nullptr ? host.regions : ""},
      connected_(greet(host, names)),
      collector_(connected_ ? host.server_count : 1),
      unrecorded_(names, host.server_index, run_.regions),
      retry_(options.retry_ms),
      forecast_(names.folder()),
      members_(names.of_run(".jsonl")),
      prefixes_{names.prefix()} {
  run_.apart = apart();
  if (run_.apart) run_.servers = 1;  // nobody knows how many there are
  run_.host = entry_host();
  run_.first_server = host.server_index;
  const std::string identity = identity_of(host);
  run_.identity = std::to_string(codec::crc32(identity.data(), identity.size()));
  run_.declared = declarations_of(host);
  if (!keeps()) return;
  const auto tell_view = [this](const ViewEntry& view, const std::function<void()>& then) { append(to_json(view), then); };
  views_ = options.make_views(tell_view);
  try {
    open();
    if (existing_ == Existing::recover) record_what_is_not();
  } catch (const Failure& failure) {
    throw Error(DC_E_NO_OUTPUT, failure.what());
  }
}

bool ManifestWriter::apart() const {
  return host_.communicator == nullptr && (host_.server_count == 1 || (!connected_ && existing_ != Existing::recover));
}

// What servers of the last run in the manifest have stored and it does not record.
std::vector<StepEntry> ManifestWriter::unrecorded_of(const std::string& regions, int servers) const {
  const std::vector<Unrecorded> kept = Unrecorded::all(names_, regions, servers);
  std::vector<StepEntry> missing;
  const KnownSteps recorded = kept.empty() ? KnownSteps{} : steps_of_last_run(names_.of_run(".jsonl"));  // a manifest may be long
  for (const Unrecorded& one : kept)
    for (StepEntry& step : one.missing_in(recorded)) missing.push_back(std::move(step));
  return missing;
}

std::vector<ServerEntry> ManifestWriter::unrecorded_ends_of(const std::string& regions, int servers) const {
  std::vector<ServerEntry> ends;
  for (const Unrecorded& one : Unrecorded::all(names_, regions, servers))
    if (const auto end = one.end()) ends.push_back(*end);
  return ends;
}

void ManifestWriter::remove_unrecorded(const std::string& regions, int servers) const {
  for (const Unrecorded& one : Unrecorded::all(names_, regions, servers)) one.remove();
}

// The dead servers had stored it, and the one that was to record it died as well. Of all of them: regions of others may have gone with their nodes.
// Two recoveries at once may both add a line; readers take them for one.
void ManifestWriter::record_what_is_not() {
  for (const StepEntry& step : unrecorded_of(run_.regions, host_.server_count)) {
    append(to_json(step));
    tell(2, "step " + std::to_string(step.step) + " had been stored, and is recorded now");
  }
  for (const ServerEntry& word : unrecorded_ends_of(run_.regions, host_.server_count)) append(to_json(word));
  remove_unrecorded(run_.regions, host_.server_count);
}

// At the end: all others have reported everything to this server, or died before they could.
void ManifestWriter::record_untold() {
  int silent = 0;
  while (silent < host_.server_count && collector_.has_told_all(silent)) ++silent;
  if (silent == host_.server_count) return;
  for (StepEntry& step : unrecorded_of(run_.regions, host_.server_count)) {
    tell(2, "step " + std::to_string(step.step) + " had been stored by a server that died, and is recorded now");
    lines_.push_back(std::move(step));
  }
}

// A run that goes on where another one was killed: what that had stored counts as its own.
std::vector<Json> ManifestWriter::lines_of_earlier(const Outline& earlier) const {
  std::vector<Json> lines;
  for (const StepEntry& step : unrecorded_of(earlier.regions, earlier.servers)) {
    lines.push_back(to_json(step));
    tell(2, "step " + std::to_string(step.step) + " had been stored by the run before, and is recorded now");
  }
  for (const ServerEntry& word : unrecorded_ends_of(earlier.regions, earlier.servers)) lines.push_back(to_json(word));
  return lines;
}

// That nobody may ever hear of it is no reason to give up what is stored.
void ManifestWriter::note_unrecorded(const Json& line) {
  if (!connected_ || host_.server_count == 1) return;
  try {
    unrecorded_.add(line);
  } catch (const Failure& failure) {
    warn(failure.what());
  }
}

// Not before: a run that does not store anything destroys no data.
void ManifestWriter::begin(const std::string& stored) {
  if (!std::exchange(begun_, true) && existing_ == Existing::overwrite)
    for (std::string& name : files_of_earlier_run(names_)) earlier_.insert(std::move(name));
  earlier_.erase(stored);
}

void ManifestWriter::remove_earlier() {
  for (const std::string& name : std::exchange(earlier_, {})) ::unlink((names_.folder() + "/" + name).c_str());
}

void ManifestWriter::open() {
  const std::string path = names_.of_run(".jsonl");
  take_hold(path);
  const RunHold::Turn turn(*hold_, std::adopt_lock);
  const bool again = was_open_, goes_on = existing_ == Existing::append && !again;
  const bool begins = goes_on || (existing_ == Existing::overwrite && !again);
  const Outline earlier = begins || again ? outline_of(path) : Outline{};
  const bool took_part = begins && Members(path).has(host_.host_name, host_.server_index);
  if (again) require_same_run(earlier, run_);
  const std::vector<Json> of_earlier = goes_on || again ? lines_of_earlier(earlier) : std::vector<Json>{};
  file_ = std::make_unique<ManifestFile>(path, existing_, *hold_, run_, again, of_earlier);
  if (!again && (!file_->is_first() || existing_ == Existing::recover)) run_.run = outline_of(path).run;
  if (std::exchange(was_open_, true)) views_->begin_again();
  if (again) warn_of_moved(path);
  if (goes_on && file_->is_first()) remove_unrecorded(earlier.regions, earlier.servers);
  if (begins && file_->is_first()) warn_of_own_job(earlier, took_part);
  if (apart() && !file_->is_first())
    file_->append(to_json(ServerEntry{ServerEntry::What::joined, host_.server_index, host_.host_name, {}}));
}

// Unless the lines stand in the file that is there now: another process of the run has given it them.
void ManifestWriter::warn_of_moved(const std::string& record) {
  if (recorded_.empty()) return;
  const std::map<std::int64_t, std::set<int>> recorded = steps_of_last_run(record).servers;
  const auto last = recorded.find(recorded_.last());
  if (last != recorded.end() && (!apart() || last->second.count(host_.server_index) > 0)) return;
  warn("the manifest " + record + " was moved away or removed: it is begun anew, and only the one that was there records " +
       recorded_.text());
  recorded_ = {};
}

// One that has taken part in that run, and begins alone, may be started again.
void ManifestWriter::warn_of_own_job(const Outline& earlier, bool took_part) const {
  if (!apart() || !earlier.mentions_steps || earlier.identity != run_.identity) return;
  const bool replaces_all = existing_ == Existing::overwrite;
  tell(took_part && (replaces_all || host_.server_count == 1) ? 2 : 1,
       "the last run in " + names_.of_run(".jsonl") + " is of the same job, and has ended: this one counts as a later run, which " +
           (replaces_all ? "replaces all of it with the first step that it stores"
                         : "replaces its steps from the first one that it stores") +
           "; processes of one run must be attached at the same time");
}

// With a turn. Anew where the folder was taken away, and the locks with it.
void ManifestWriter::take_hold(const std::string& record) {
  if (hold_ != nullptr && !hold_->is_gone()) return hold_->take_turn();
  file_.reset();
  hold_.reset();
  const std::string member = std::string(host_.host_name) + ".s" + std::to_string(host_.server_index);
  hold_ = std::make_unique<RunHold>(record, identity_of(host_), member, shared(), std::chrono::seconds(30));
}

// What earlier runs left goes when the first line of this run has replaced theirs.
void ManifestWriter::replace_earlier_runs() {
  if (std::exchange(replaced_, true) || existing_ != Existing::overwrite) return;
  remove_earlier();
  tell_others({{"replaced", true}});  // one that does not hear of it removes them at its end
  if (!file_->is_first()) return;
  for (const char* suffix : {".h5", ".xmf"}) ::unlink(names_.of_run(suffix).c_str());
  if (!shared()) remove_files_of_others(files_in_manifest(names_.of_run(".jsonl")));
  try {
    file_->drop_replaced_lines();
  } catch (const Failure& failure) {
    warn(std::string(failure.what()) + "; what earlier runs wrote there stays, and does not count");
  }
}

// Those of servers that this run does not have. Its own servers have removed theirs, and perhaps made them anew. A manifest that somebody
// else made may name any file.
void ManifestWriter::remove_files_of_others(const std::set<std::string>& earlier) const {
  for (const std::string& name : earlier) {
    const auto made_it = [&](const std::string& prefix) { return name.compare(0, prefix.size(), prefix) == 0; };
    if (names_.is_of_run(name) && std::none_of(prefixes_.begin(), prefixes_.end(), made_it))
      ::unlink((names_.folder() + "/" + name).c_str());
  }
}

void ManifestWriter::tell_keeper(const Json& message, const std::string& of) const {
  const std::string text = text_of(message);
  if (host_.send(host_.self, 0, text.data(), text.size()) != DC_OK)
    warn("server 0, which keeps the manifest, does not get the message " + of);
}

void ManifestWriter::tell_others(const Json& message) const {
  if (!connected_) return;
  const std::string text = text_of(message);
  for (int other = 1; other < host_.server_count; ++other) host_.send(host_.self, other, text.data(), text.size());
}

void ManifestWriter::report(StepEntry&& record, Instant since) {
  record.tellers = {{entry_host(), host_.server_index}};
  note_unrecorded(to_json(record));
  if (!keeps()) return tell_keeper(to_json(record), "of step " + std::to_string(record.step));
  collector_.add(connected_ ? host_.server_index : 0, std::move(record));
  add_due(collector_.ready(), since);
}

void ManifestWriter::passed(std::int64_t step) {
  if (keeps()) {
    if (!connected_) return;
    collector_.pass(host_.server_index, step, losses_of(host_));
    add_due(collector_.ready(), Clock::now());
    return void(write());
  }
  if (step == std::numeric_limits<std::int64_t>::max())
    note_unrecorded(to_json(ServerEntry{ServerEntry::What::ended, host_.server_index, "", losses_of(host_)}));
  Json passed = to_json(losses_of(host_));
  passed["passed"] = step;
  tell_keeper(passed, "that nothing comes up to step " + std::to_string(step));
}

void ManifestWriter::take(int from, const std::string& message) {
  const Json json = Json::parse(message);
  if (json.contains("replaced")) return remove_earlier();
  if (json.contains("misses"))
    throw Error(DC_E_IO, "the manifest, which server 0 keeps, misses " + json.at("misses").get<std::string>());
  if (json.contains("prefix")) return void(prefixes_.insert(json.at("prefix").get<std::string>()));
  if (json.contains("passed"))
    collector_.pass(from, json.at("passed").get<std::int64_t>(), losses_from(json));
  else
    collector_.add(from, step_from_json(json));
  add_due(collector_.ready(), Clock::now());
  write();
}

void ManifestWriter::add_due(std::vector<StepEntry>&& due, Instant since) {
  if (!due.empty()) since_ = since;
  for (StepEntry& step : due) {
    foresee(step);
    lines_.push_back(std::move(step));
  }
}

// Where each server adds its own lines the others store about as much.
void ManifestWriter::foresee(StepEntry& step) {
  if (step.files.empty()) return;
  std::uint64_t bytes = 0;
  for (const FileEntry& file : step.files) bytes += file.bytes;
  const std::uint64_t writers = apart() ? members_.recent_count() : connected_ ? 1 : static_cast<std::uint64_t>(host_.server_count);
  const DiskForecast::Said said = forecast_.stored(bytes * writers);
  if (said.what == DiskForecast::Tells::nothing) return;
  tell(said.what == DiskForecast::Tells::warning ? 1 : 2, said.sentence);
  if (said.what == DiskForecast::Tells::warning) step.warnings.push_back(said.sentence);
}

bool ManifestWriter::write() {
  try {
    return try_lines();
  } catch (const Failure& failure) {
    tell_others({{"misses", named(lines_) + ": " + failure.what()}});
    const StepEntry& step = lines_.front();
    throw Failure("step " + std::to_string(step.step) + fate_of(step) + " the manifest cannot record it: " + failure.what() +
                      "; its line is kept and tried again with the next",
                  failure.system_error());
  }
}

bool ManifestWriter::try_lines() {
  if (lines_.empty()) return true;
  const Instant begun = Clock::now();
  if (retry_.resting(begun)) return false;
  const std::string record = "the manifest " + names_.of_run(".jsonl");
  try {
    write_lines();
  } catch (const Failure& failure) {
    if (!retry_.again(failure.system_error(), since_, begun, Clock::now())) {
      retry_.next_thing();
      throw;
    }
    if (retry_.failed() == 1)
      warn(record + " cannot record step " + std::to_string(lines_.front().step) + " yet: " + failure.what() +
           "; it is tried again");
    return false;
  }
  if (retry_.failed() > 0) tell(2, record + " has got its lines after " + retry_.effort(Clock::now()));
  retry_.stored();
  if (host_.server_index == 0)
    views_->note();  // where several servers in place share the manifest, one of them is enough until the end
  return true;
}

// Lines that messages of other servers have brought are tried again here.
Views::Work ManifestWriter::work() {
  if (views_ == nullptr) return Views::Work::none;
  if (retry_.failed() > 0 && !write()) return Views::Work::later;
  return views_->work();
}

// Another process of this run may give the manifest another file.
void ManifestWriter::append(const Json& line, const std::function<void()>& then) {
  constexpr int kTries = 10;
  for (int tries = 0; file_ == nullptr || !file_->append(line, then); ++tries) {
    if (tries == kTries) throw_system_failure(ENOENT, "add to the manifest", names_.of_run(".jsonl"));
    open();
  }
}

void ManifestWriter::write_lines() {
  if (file_ == nullptr || file_->is_gone()) open();
  while (!lines_.empty()) {
    append(to_json(lines_.front()));
    recorded_.add(lines_.front().step);
    const bool replaces = !lines_.front().files.empty();
    lines_.pop_front();
    if (replaces) replace_earlier_runs();
  }
}

// Else a run that goes on could not know whether this server was whole.
bool ManifestWriter::matters_to_others() const {
  if (connected_ && host_.server_count > 1) return false;  // server 0 has recorded all
  if (host_.server_count > 1 || !file_->is_first()) return true;
  return outline_of(names_.of_run(".jsonl")).has_joined;
}

// After all lines of this server.
void ManifestWriter::say_end() {
  if (file_ == nullptr) open();  // a view's line has not found it where it was
  if (matters_to_others())
    append(to_json(ServerEntry{ServerEntry::What::ended, host_.server_index, host_.host_name, losses_of(host_)}));
}

void ManifestWriter::finish() {
  if (!keeps()) return remove_earlier();
  add_due(collector_.rest(), Clock::now());
  try {
    const auto write_all_lines = [&] {
      while (!try_lines()) std::this_thread::sleep_for(kLookEvery);  // nobody else is served any more
    };
    write_all_lines();
    if (connected_) record_untold();
    write_all_lines();
    say_end();
  } catch (const Failure& failure) {
    throw Failure("the manifest misses " + (lines_.empty() ? "the end of the run" : named(lines_)) + ": " + failure.what(),
                  failure.system_error());
  }
  for (int server = 0; connected_ && server < host_.server_count; ++server)
    if (const Unrecorded one(names_, server, run_.regions); replaced_ || one.is_there()) one.remove();
  views_->finish();
}

}  // namespace damaris::manifest
