#include "log.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"
#include "output_folder.hpp"
#include "records.hpp"

namespace damaris::manifest {
namespace {

constexpr std::uint64_t kAheadBytes = std::uint64_t{64} << 10;

struct flock whole_file(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool is_taken(int error) { return error == EAGAIN || error == EACCES; }
// Of a file system that has locks but is away; one without locks gives another errno.
bool may_pass(int error) { return error == EIO || error == ESTALE || error == ETIMEDOUT || error == ENOTCONN || error == EINTR; }

// The number of the record; 0 for a line that is damaged.
std::uint64_t number_of(const std::string& line) {
  constexpr std::string_view kStart = R"({"n":)";
  std::uint64_t n = 0;
  if (line.size() > kStart.size() && line.compare(0, kStart.size(), kStart) == 0 && is_whole(line))
    std::from_chars(line.data() + kStart.size(), line.data() + line.size(), n);
  return n;
}

}  // namespace

Log::Log(std::string path) : path_(std::move(path)) {
  descriptor_ = open_own(path_, O_RDWR | O_CREAT, 0666);
  if (descriptor_ < 0)
    throw Failure("cannot open the log of the manifest " + path_ + ": " + why_not_own(path_, errno, kOtherBasename), errno);
  close_in_forks(descriptor_);
  const int error = lock_file(descriptor_, F_WRLCK);
  try {
    if (is_taken(error))
      throw Error(DC_E_NO_OUTPUT, "'" + path_ +
                                      "' is the log of another process, which is still running; wait for its end, choose another "
                                      "basename, or give each process an id of its own");
    if (may_pass(error)) throw_system_failure(error, "lock", path_);
    find_end();
    if (is_empty()) sync_folder_of(path_);
  } catch (...) {
    keep_in_forks(descriptor_);
    ::close(descriptor_);
    throw;
  }
}

Log::~Log() {
  keep_in_forks(descriptor_);
  ::close(descriptor_);
}

void Log::find_end() {
  for_whole_lines(path_, 0, [&](const std::string& line) {
    end_ += line.size() + 1;
    last_ = std::max(last_ + 1, number_of(line));
    return true;
  });
  is_torn_ = true;  // the last line may be cut off: the first write cuts the file at end_
}

void Log::reserve() {
  if (reserved_ >= end_ + kAheadBytes) return;
  const std::uint64_t until = end_ + 2 * kAheadBytes;
  if (::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end_), static_cast<off_t>(until - end_)) == 0)
    reserved_ = until;
  else if (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG)
    throw_system_failure(errno, "reserve room in", path_);
}

void Log::append(const Json& record) {
  Json numbered = {{"n", last_ + 1}};
  numbered.update(record);
  write(text_of(numbered));
}

void Log::append(const StepEntry& step) {
  std::string facts = facts_of(step.files);
  const bool are_known = facts == facts_;
  write(record_of(step, last_ + 1, are_known ? "" : facts, facts_in_));
  if (are_known || step.files.empty()) return;
  facts_ = std::move(facts);
  facts_in_ = last_;
}

// What was reserved beyond the end goes with it.
void Log::cut() noexcept {
  is_torn_ = ::ftruncate(descriptor_, static_cast<off_t>(end_)) != 0;
  reserved_ = end_;
}

void Log::write(const std::string& object) {
  if (is_torn_) cut();
  if (is_torn_) throw_system_failure(errno, "cut off", path_);
  const std::string line = sealed(object) + "\n";
  std::size_t done = 0;
  int error = 0;
  while (done < line.size() && error == 0) {
    const ssize_t got = ::pwrite(descriptor_, line.data() + done, line.size() - done, static_cast<off_t>(end_ + done));
    if (got < 0 && errno != EINTR) error = errno;
    if (got == 0) error = ENOSPC;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  if (error == 0 && ::fdatasync(descriptor_) != 0) error = errno;
  if (error != 0) {
    cut();
    throw_system_failure(error, "add to the manifest", path_);
  }
  end_ += line.size();
  ++last_;
}

void Log::end() noexcept {
  if (reserved_ > end_) cut();
}

int lock_file(int descriptor, short type) {
  struct flock lock = whole_file(type);
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

Holder holder_of(const std::string& path) {
  const StoredFileReader file(path);
  if (!file.is_open()) return errno == ENOENT || errno == ENOTDIR ? Holder::none : Holder::unknown;
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.descriptor(), F_OFD_GETLK, &lock) != 0) return Holder::unknown;
  return lock.l_type == F_UNLCK ? Holder::none : Holder::alive;
}

}  // namespace damaris::manifest
