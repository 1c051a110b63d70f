#include "manifest_file.hpp"

#include <damaris/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "output_folder.hpp"
#include "reader.hpp"
#include "sealed_line.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {
namespace {

constexpr char kAside[] = ".tmp.";  // in the name of a manifest that is being written

std::uint64_t size_of(int descriptor, const std::string& path) {
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0) throw_system_failure(errno, "stat", path);
  return static_cast<std::uint64_t>(facts.st_size);
}

Failure unopened(const std::string& path, int error) {
  return Failure("cannot open the manifest " + path + ": " + why_not_own(path, error, kOtherBasename), error);
}

// Returns false with errno set.
bool copy_from(int source, std::uint64_t offset, int target) {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (ssize_t got; (got = ::pread(source, buffer.data(), buffer.size(), static_cast<off_t>(offset))) != 0;) {
    if (got < 0) return false;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(target, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0) return false;
      done += written;
    }
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

// Whether no step was recorded, and each server that joined has ended: recovery could not add the data of one that was killed to a run
// that has no line.
bool has_stored_and_left_nothing(const std::string& path, std::uint64_t offset) {
  std::set<std::pair<std::string, int>> joined;
  bool only_entries = true;
  const bool is_there = for_whole_lines(path, offset, [&](const std::string& line) {
    const auto entry = server_entry_from_json(Json::parse(line, nullptr, false));
    only_entries = entry.has_value();
    if (entry && entry->what == ServerEntry::What::joined) joined.emplace(entry->host, entry->server);
    if (entry && entry->what == ServerEntry::What::ended) joined.erase({entry->host, entry->server});
    return only_entries;
  });
  return is_there && only_entries && joined.empty();
}

}  // namespace

Error earlier_record(const std::string& path) {
  return Error(DC_E_NO_OUTPUT, "'" + path +
                                   "' is the manifest of an earlier run and exists=\"refuse\"; move its files away, choose " +
                                   "another basename, or use exists=\"overwrite\" or \"append\"");
}

Error unended_run(const std::string& path) {
  return Error(DC_E_NO_OUTPUT,
               "'" + path +
                   "' is the manifest of an earlier run that has not ended: it was killed, or lost clients; to keep what it has "
                   "stored, go on with exists=\"append\", or choose another basename; exists=\"overwrite\" removes it");
}

Error other_run(const std::string& path) {
  return Error(DC_E_NO_OUTPUT, "'" + path +
                                   "' is now the manifest of another run, whose files would be mixed with the recovered ones; "
                                   "recover to another place (damaris recover --basename)");
}

void require_same_run(const Outline& found, const RunEntry& run) {
  if (found.is_unknown)
    throw Failure("the line of its last run is damaged, so it may belong to another run; nothing can be added", kNoRemedy);
  const bool is_it = (found.identity.empty() || found.identity == run.identity) && (found.run.empty() || found.run == run.run);
  if (is_it) return;
  throw Failure("it is now that of another run, which replaced it or began after this process lost its locks; nothing can be added",
                kNoRemedy);
}

void require_own_manifest(const std::string& path) {
  const int descriptor = open_own(path, O_RDWR | O_APPEND, 0666);
  if (descriptor >= 0)
    ::close(descriptor);
  else if (errno != ENOENT)
    throw unopened(path, errno);
}

ManifestFile::ManifestFile(std::string path, Existing existing, RunLock& run_lock, const RunEntry& run, bool again,
                           const std::vector<Json>& of_earlier)
    : path_(std::move(path)), lock_(run_lock), first_(run_lock.is_first()) {
  const RunLock::Guard guard(lock_);
  try {
    open();
    const bool is_empty = size_of(descriptor_, path_) == 0, is_begun = (again || !first_) && !is_empty;
    if (existing == Existing::recover && !again && !is_empty) require_run_of(run);
    if (!is_begun) start(existing, run, of_earlier);
  } catch (...) {
    close();
    throw;
  }
}

ManifestFile::~ManifestFile() {
  if (first_) take_back();
  close();
}

// The run of a recovery is that of the dead server. This is checked even while other processes of the same job have the manifest open:
// they may belong to a later run.
void ManifestFile::require_run_of(const RunEntry& recovery) const {
  if (!outline_of(path_).has_server(recovery.regions)) throw other_run(path_);
}

// A run that stored nothing, and left nothing to recovery, removes its lines.
void ManifestFile::take_back() try {
  struct stat facts = {};
  if (is_gone() || ::fstat(descriptor_, &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < end_) return;
  if (!has_stored_and_left_nothing(path_, end_)) return;
  if (!lock_.take_alone())
    return;  // other processes use the file
             // If this fails, a line about a run without steps stays, which replaces nothing.
  [[maybe_unused]] const int result = begin_ == 0 ? ::unlink(path_.c_str()) : ::ftruncate(descriptor_, static_cast<off_t>(begin_));
} catch (const Failure&) {
  // The content is unknown: leave it.
} catch (const Error&) {
}

void ManifestFile::keep_run() {
  if (end_ > 0) end_ = std::numeric_limits<std::uint64_t>::max();
}

void ManifestFile::open() {
  descriptor_ = open_own(path_, O_RDWR | O_CREAT | O_APPEND, 0666);
  if (descriptor_ < 0) throw unopened(path_, errno);
  learn_identity();
}

void ManifestFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void ManifestFile::learn_identity() {
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", path_);
  identity_ = FileIdentity(facts);
  learn_name();
}

// A path that is refused now may show the file later; if it shows another one, the file is opened anew.
void ManifestFile::learn_name() {
  struct stat named = {};
  has_name_ = ::stat(path_.c_str(), &named) != 0 || identity_.is(named);
}

void ManifestFile::start(Existing existing, const RunEntry& run, const std::vector<Json>& of_earlier) {
  remove_leftovers();
  if (existing == Existing::recover && size_of(descriptor_, path_) > 0) return cut_broken_line();
  if (existing == Existing::refuse && outline_of(path_).mentions_steps) throw earlier_record(path_);
  drop_replaced_lines();
  cut_broken_line();
  for (const Json& line : of_earlier)
    if (!append(line)) throw_system_failure(ENOENT, "continue the manifest", path_);
  begin_ = size_of(descriptor_, path_);
  if (!append(to_json(run))) throw_system_failure(ENOENT, "begin the manifest", path_);
  end_ = size_of(descriptor_, path_);
  sync_folder_of(path_);
}

// Their creator held the lock, which is now ours.
void ManifestFile::remove_leftovers() const {
  const std::filesystem::path record(path_);
  const std::string start = record.filename().string() + kAside;
  std::error_code unreadable;
  for (std::filesystem::directory_iterator next(record.parent_path(), unreadable), end; !unreadable && next != end;
       next.increment(unreadable))
    if (next->path().filename().string().compare(0, start.size(), start) == 0) ::unlink(next->path().c_str());
}

void ManifestFile::drop_replaced_lines() {
  if (is_gone()) return;
  const RunLock::Guard guard(lock_);
  const std::uint64_t from = is_gone() ? 0 : outline_of(path_).replaced_until;
  if (from == 0) return;
  std::string aside;
  const int fresh = make_own(path_ + kAside, aside, O_RDWR | O_APPEND, 0666);
  if (fresh < 0) throw_system_failure(errno, "make", aside);
  struct stat facts = {};
  const bool moved = copy_from(descriptor_, from, fresh) && ::fsync(fresh) == 0 && ::fstat(fresh, &facts) == 0 &&
                     ::rename(aside.c_str(), path_.c_str()) == 0;
  const int error = errno;
  if (moved) ::dup3(fresh, descriptor_, O_CLOEXEC);
  ::close(fresh);
  if (!moved) {
    ::unlink(aside.c_str());
    throw_system_failure(error, "shorten the manifest", path_);
  }
  identity_ = FileIdentity(facts);
  learn_name();
  keep_run();  // lines were added
}

// Removes the incomplete line of a killed process.
void ManifestFile::cut_broken_line() {
  const std::uint64_t size = size_of(descriptor_, path_);
  std::uint64_t end = size;
  for (char last = 0; end > 0; --end) {
    if (::pread(descriptor_, &last, 1, static_cast<off_t>(end - 1)) != 1) throw_system_failure(errno, "read", path_);
    if (last == '\n') break;
  }
  if (end < size && ::ftruncate(descriptor_, static_cast<off_t>(end)) != 0) throw_system_failure(errno, "shorten", path_);
}

// On a file system whose inode numbers differ between path and descriptor, only removal can be detected.
bool ManifestFile::is_gone() const {
  if (lock_.is_gone()) return true;
  struct stat facts = {};
  if (has_name_) {
    const bool is_named = ::stat(path_.c_str(), &facts) == 0;
    if (is_named ? !identity_.is(facts) : errno == ENOENT || errno == ENOTDIR) return true;
  }
  if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", path_);
  return facts.st_nlink == 0;
}

// The seal of the last line; the caller holds the lock.
Seal ManifestFile::last_seal() const {
  char bytes[kSealBytes + 1];  // and the newline
  const std::uint64_t size = size_of(descriptor_, path_);
  if (size < sizeof bytes) return "";
  const ssize_t got = ::pread(descriptor_, bytes, sizeof bytes, static_cast<off_t>(size - sizeof bytes));
  if (got < 0) throw_system_failure(errno, "read", path_);
  return got == sizeof bytes ? seal_of({bytes, kSealBytes}) : "";
}

bool ManifestFile::append(const Json& line, const std::function<void()>& then) { return append(std::vector<Json>{line}, then); }

bool ManifestFile::append(const std::vector<Json>& lines, const std::function<void()>& then) {
  if (is_gone()) return false;
  const RunLock::Guard guard(lock_);
  if (is_gone()) return false;
  take_back_line();
  cut_broken_line();  // of another process: this line would be appended to it
  std::string text;
  Seal seal = last_seal();
  for (const Json& line : lines) {
    const std::string whole = sealed(text_of(line), seal);
    seal = seal_of(whole);
    text += whole + "\n";
  }
  line_begin_ = size_of(descriptor_, path_);
  int error = write_all(descriptor_, text);
  if (error == 0 && ::fdatasync(descriptor_) != 0) error = errno;
  if (error == 0) {
    if (then) then();
    return true;
  }
  line_end_ = size_of(descriptor_, path_);
  take_back_line();
  throw_system_failure(error, "write to", path_);
}

// Removes a line that could not be made durable. If that fails too, the next append retries it, unless another process has
// appended.
void ManifestFile::take_back_line() {
  const bool is_last = line_end_ > line_begin_ && size_of(descriptor_, path_) == line_end_;
  if (is_last && ::ftruncate(descriptor_, static_cast<off_t>(line_begin_)) != 0) throw_system_failure(errno, "shorten", path_);
  line_end_ = 0;
}

}  // namespace damaris::manifest
