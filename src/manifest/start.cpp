#include "start.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/own_file.hpp"
#include "manifest.hpp"
#include "records.hpp"

namespace damaris::manifest {
namespace {

constexpr std::size_t kMaxBytes = 4096;

std::optional<Begun> begun_in(int descriptor) try {
  std::string text(kMaxBytes, '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const Json json = Json::parse(text);
  Begun begun;
  begun.identity = json.at("identity").get<std::string>();
  begun.refused = json.value("refused", "");
  read_value(json.at("generation"), begun.log.generation);
  begun.log.host = json.at("host").get<std::string>();
  read_value(json.at("server"), begun.log.server);
  return begun;
} catch (const Json::exception&) {
  return std::nullopt;
}

// Does not wait for the lock. Creates the file: a client of NFS remembers for long that a file was not there.
std::optional<Begun> begun_in(const FileNames& names) {
  const int descriptor = open_own(names.hidden(".lock"), O_RDWR | O_CREAT, 0600);
  if (descriptor < 0) return std::nullopt;
  std::optional<Begun> begun = begun_in(descriptor);
  ::close(descriptor);
  return begun;
}

}  // namespace

StartLock::StartLock(const FileNames& names, std::chrono::milliseconds timeout) : path_(names.hidden(".lock")) {
  for (const Deadline deadline = Deadline::after_ms(timeout.count()); !try_lock(); std::this_thread::sleep_for(kLookEvery))
    if (deadline.expired())
      throw Failure("cannot lock " + path_ + " within " + std::to_string(timeout.count()) +
                        " ms: another process that starts holds the lock; if that does not go on, end it: 'fuser " + path_ +
                        "' names it",
                    ETIMEDOUT);
}

// Unlocks first: a child may have the descriptor, too.
StartLock::~StartLock() {
  (void)lock_file(descriptor_, F_UNLCK);
  ::close(descriptor_);
}

std::optional<Begun> StartLock::begun() const { return begun_in(descriptor_); }

void StartLock::name(const Begun& begun) const {
  const std::string text = text_of({{"identity", begun.identity},
                                    {"generation", begun.log.generation},
                                    {"host", begun.log.host},
                                    {"server", begun.log.server},
                                    {"refused", begun.refused.substr(0, kMaxBytes / 2)}});
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw_system_failure(errno, "write to", path_);
}

void StartLock::forget(const std::string& identity) const {
  const std::optional<Begun> named = begun();
  if (!named || named->identity == identity) ::unlink(path_.c_str());
}

// The one before may have removed the file that we have opened.
bool StartLock::try_lock() {
  descriptor_ = open_own(path_, O_RDWR | O_CREAT, 0600);
  if (descriptor_ < 0)
    throw Failure("cannot open the lock file " + path_ + ": " + why_not_own(path_, errno, kOtherBasename), errno);
  const int error = lock_file(descriptor_, F_WRLCK);
  const bool is_taken = error == EAGAIN || error == EACCES || error == EINTR;
  has_locks_ = error == 0;
  struct stat ours = {}, named = {};
  if (!is_taken && ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino)
    return true;
  ::close(descriptor_);
  return false;
}

namespace {

constexpr std::chrono::milliseconds kRecoveryWait{30'000};

Error earlier_run(const FileNames& names) {
  return Error(DC_E_NO_OUTPUT,
               "'" + names.of_run("") +
                   "' has an earlier run and exists=\"refuse\"; move its files away, choose another basename, or use "
                   "exists=\"overwrite\" or \"append\"");
}

Error unended_run(const FileNames& names) {
  return Error(DC_E_NO_OUTPUT,
               "'" + names.of_run("") +
                   "' has an earlier run that has not ended: it was killed, or lost clients; to keep what it has "
                   "stored, go on with exists=\"append\", or choose another basename; exists=\"overwrite\" removes it");
}

Error living_run(const std::string& log) {
  return Error(DC_E_NO_OUTPUT, "'" + log +
                                   "' is the log of another run, which is still running; wait for its end, or choose another "
                                   "basename; if this process belongs to that run, set DAMARIS_JOB to the same name in all of its "
                                   "processes");
}

std::string path_of(const FileNames& names, const LogName& log) { return names.folder() + "/" + log.of(names.stem()); }

// What the first record of a log says; nothing if it is damaged.
std::optional<RunEntry> run_in(const FileNames& names, const LogName& log) {
  LogReader reader(path_of(names, log), log);
  reader.was_replaced();
  for (LogRecord& record : reader.read_on(1))
    if (auto* const run = std::get_if<RunEntry>(&record)) return std::move(*run);
  return std::nullopt;
}

// The generation of the processes of this run that live; 0 if there are none. Throws if another run lives.
std::int64_t living_generation(const FileNames& names, const RunEntry& run, const std::vector<LogName>& logs) {
  for (const LogName& log : logs) {
    if (log.generation != logs.back().generation || holder_of(path_of(names, log)) != Holder::alive) continue;
    const std::optional<RunEntry> its = run_in(names, log);
    if (!its || its->identity != run.identity) throw living_run(path_of(names, log));
    return log.generation;
  }
  return 0;
}

void check_earlier(const FileNames& names, Existing existing) {
  if (existing == Existing::append || existing == Existing::overwrite) return;
  Manifest earlier(names.of_run(""), Manifest::kAll, true);
  earlier.read_on();
  if (earlier.steps().empty() && earlier.damaged().empty()) return;
  if (existing == Existing::refuse) throw earlier_run(names);
  if (!earlier.has_ended()) throw unended_run(names);
}

Started open_log(const FileNames& names, const RunEntry& run, LogName name) {
  Started started;
  started.name = std::move(name);
  started.log = std::make_unique<Log>(path_of(names, started.name));
  started.came_back = !started.log->is_empty();
  started.log->append(started.came_back ? back_record(run) : run_record(run, started.name));
  return started;
}

Started begin(const FileNames& names, const RunEntry& run, LogName own, Existing existing, std::chrono::milliseconds timeout) {
  const StartLock lock(names, timeout);
  if (!lock.has_locks() && run.apart)
    throw Failure("cannot lock " + names.hidden(".lock") + ", as servers without MPI must to share a manifest", ENOLCK);
  const std::vector<LogName> logs = find_logs(names.folder(), names.stem(), true);
  Begun begun = {run.identity, own, ""};
  try {
    if (own.generation = living_generation(names, run, logs); own.generation > 0) return open_log(names, run, own);
    check_earlier(names, existing);
    own.generation = logs.empty() ? 1 : logs.back().generation + 1;
    Started started = open_log(names, run, own);
    if (started.came_back)
      throw Error(DC_E_NO_OUTPUT,
                  "'" + started.log->path() +
                      "' is the log of an earlier run, but not shown as a file of this user in its folder: make that "
                      "readable, or choose another basename");
    started.began = true;
    started.follows = !logs.empty() && run_in(names, logs.back()).value_or(RunEntry{}).identity == run.identity;
    begun.log = own;
    lock.name(begun);
    return started;
  } catch (const std::exception& error) {
    begun.refused = error.what();
    const std::optional<Begun> before = lock.begun();
    const bool another_lives =
        before && before->identity != run.identity && holder_of(path_of(names, before->log)) == Holder::alive;
    if (!run.apart && !another_lives) lock.name(begun);  // so that the others do not wait
    throw;
  }
}

Started wait_for_begun(const FileNames& names, const RunEntry& run, LogName own, std::chrono::milliseconds timeout) {
  for (const Deadline deadline = Deadline::after_ms(timeout.count());; std::this_thread::sleep_for(kLookEvery)) {
    const std::optional<Begun> begun = begun_in(names);
    if (begun && begun->identity == run.identity) {
      if (!begun->refused.empty()) throw Error(DC_E_NO_OUTPUT, "server 0 could not begin the manifest: " + begun->refused);
      return open_log(names, run, {begun->log.generation, own.host, own.server});
    }
    if (deadline.expired() &&
        holder_of(names.hidden(".lock")) != Holder::alive)  // else server 0 reads the manifests of earlier runs
      throw Error(DC_E_NO_OUTPUT, "server 0 has not begun the manifest of '" + names.of_run("") + "' within " +
                                      std::to_string(timeout.count()) +
                                      " ms: see its messages, and whether all nodes see the same folder");
  }
}

}  // namespace

Started start(const FileNames& names, const RunEntry& run, LogName own, Existing existing, bool waits,
              std::chrono::milliseconds timeout) {
  return waits ? wait_for_begun(names, run, std::move(own), timeout) : begin(names, run, std::move(own), existing, timeout);
}

namespace {

// Whether the log is of the server that had these regions, in any of its lives.
bool has_regions(const std::string& path, const LogName& log, const std::string& regions) {
  bool has = false;
  LogReader reader(path, log);
  reader.was_replaced();
  for (std::vector<LogRecord> records; !has && !(records = reader.read_on(1024)).empty();)
    for (const LogRecord& record : records) {
      const auto* const run = std::get_if<RunEntry>(&record);
      const auto* const back = std::get_if<BackRecord>(&record);
      has = has || (run != nullptr && run->regions == regions) || (back != nullptr && back->regions == regions);
    }
  return has;
}

}  // namespace

// A server that died before it had a log gets one in the run of the others. So does one of a run without any, as at another basename.
Started start_recovery(const FileNames& names, const RunEntry& run, LogName own) {
  std::vector<LogName> logs = find_logs(names.folder(), names.stem(), true);
  const auto is_its = [&](const LogName& log) { return log.host == own.host && log.server == own.server; };
  std::stable_partition(logs.begin(), logs.end(), is_its);
  std::optional<LogName> found, others;
  for (const LogName& log : logs) {
    if (found && !is_its(log)) break;
    if (run.regions.empty() || !has_regions(path_of(names, log), log, run.regions)) continue;
    (log.server == own.server ? found : others) = log;
  }
  if (found) {
    Started started;
    started.name = *found;
    started.log = std::make_unique<Log>(path_of(names, *found));
    return started;
  }
  if (others) return open_log(names, run, {others->generation, own.host, own.server});
  if (logs.empty()) return begin(names, run, std::move(own), Existing::append, kRecoveryWait);
  throw Error(DC_E_NO_OUTPUT,
              "'" + names.of_run("") +
                  "' has the manifest of another run, with whose files the recovered ones would be mixed; recover to "
                  "another place (damaris recover --basename)");
}

}  // namespace damaris::manifest
