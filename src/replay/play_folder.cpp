#include "replay/play_folder.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "replay/contents.hpp"

namespace damaris::replay {
namespace {

constexpr std::uint64_t kPart = 1 << 20;  // of a file that is made
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string random_name() {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name = "damaris-replay.";
  for (int i = 0; i < 8; ++i) name += kLetters[random() % 36];
  return name;
}

std::vector<bool> made_by_program(const Plan& plan) {
  std::vector<bool> made(plan.files.size());
  for (const Operation& one : plan.operations)
    if (one.kind == Kind::open && (one.flags & kCreate) != 0) made[one.object] = true;
  return made;
}

}  // namespace

PlayFolder::PlayFolder(const std::string& on, const Plan& plan) : plan_(plan) {
  on_ = ::open(on.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto refuse = [&on](int error) {
    throw Error(DC_E_NO_OUTPUT,
                format("cannot make a folder in '{}': {}; name a folder that can be written with --on", on, text_of_errno(error)));
  };
  if (on_ < 0) refuse(errno);
  try {
    check_room(on);
    for (name_ = random_name(); ::mkdirat(on_, name_.c_str(), 0700) != 0; name_ = random_name())
      if (errno != EEXIST) refuse(errno);
    path_ = on + (on.back() == '/' ? "" : "/") + name_;
    directories_.push_back({name_, 0, ::openat(on_, name_.c_str(), kFolderFlags)});
    if (directories_[0].descriptor < 0) refuse(errno);
    find_places();
  } catch (...) {
    if (!path_.empty()) ::unlinkat(on_, name_.c_str(), AT_REMOVEDIR);
    ::close(on_);
    throw;
  }
}

PlayFolder::PlayFolder(const Plan& plan, const std::string& path) : plan_(plan), path_(path), keeps_(true) {
  directories_.push_back({path, 0, ::open(path.c_str(), kFolderFlags)});
  if (directories_[0].descriptor < 0) fail("open the folder", "", errno);
  find_places();
  for (std::size_t i = 1; i < directories_.size(); ++i) {
    Directory& one = directories_[i];
    one.descriptor = ::openat(directories_[one.parent].descriptor, one.name.c_str(), kFolderFlags);
    if (one.descriptor < 0) fail("open the folder", one.name, errno);
  }
}

void PlayFolder::find_places() {
  known_[""] = 0;
  for (const File& file : plan_.files) {
    const std::size_t slash = file.name.rfind('/');
    const bool is_below = slash != std::string::npos;
    places_.push_back({directory_of(is_below ? file.name.substr(0, slash) : ""), file.name.substr(is_below ? slash + 1 : 0)});
  }
}

PlayFolder::~PlayFolder() {
  try {
    remove();
  } catch (const std::exception&) {  // what is left is not ours
  }
  for (const Directory& one : directories_)
    if (one.descriptor >= 0) ::close(one.descriptor);
  ::close(on_);
}

void PlayFolder::check_room(const std::string& on) const {
  struct statvfs found {};
  if (::fstatvfs(on_, &found) != 0) return;
  const std::uint64_t free = static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize, needed = plan_.bytes_needed();
  if (free < needed)
    throw Error(DC_E_NO_OUTPUT,
                format("'{}' has {} free, and the plan writes {}; free some, or name a folder on a larger file system with --on",
                       on, size_text(free), size_text(needed)));
  if (found.f_files > 0 && found.f_favail < plan_.files.size())
    throw Error(DC_E_NO_OUTPUT,
                format("the file system of '{}' has room for {} more files, and the plan has {}; name another folder with --on", on,
                       static_cast<std::uint64_t>(found.f_favail), plan_.files.size()));
}

std::size_t PlayFolder::directory_of(const std::string& path) {
  if (const auto found = known_.find(path); found != known_.end()) return found->second;
  const std::size_t slash = path.rfind('/');
  const bool is_below = slash != std::string::npos;
  const std::size_t parent = directory_of(is_below ? path.substr(0, slash) : "");
  directories_.push_back({path.substr(is_below ? slash + 1 : 0), parent, -1});
  return known_[path] = directories_.size() - 1;
}

void PlayFolder::fail(const char* doing, const std::string& name, int error) const {
  throw Error(DC_E_IO, format("cannot {} '{}/{}': {}; name another folder with --on", doing, path_, name, text_of_errno(error)));
}

void PlayFolder::make_directories() {
  for (std::size_t i = 1; i < directories_.size(); ++i) {
    Directory& one = directories_[i];
    const int parent = directories_[one.parent].descriptor;
    if (::mkdirat(parent, one.name.c_str(), 0700) != 0) fail("make the folder", one.name, errno);
    one.descriptor = ::openat(parent, one.name.c_str(), kFolderFlags);
    if (one.descriptor < 0) fail("open the folder", one.name, errno);
  }
}

void PlayFolder::make_file(std::uint32_t file, Contents& contents, const std::atomic<int>& interrupted) const {
  const File& one = plan_.files[file];
  const int descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL);
  int error = descriptor < 0 ? errno : 0;
  for (std::uint64_t at = 0; error == 0 && at < one.initial_bytes && interrupted == 0;) {
    const std::uint64_t part = std::min(kPart, one.initial_bytes - at);
    error = contents.write(descriptor, at, part);
    at += part;
  }
  if (error == 0 && interrupted == 0 && ::fsync(descriptor) != 0) error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) fail("make", one.name, error);
}

void PlayFolder::fill(const std::atomic<int>& interrupted) {
  make_directories();
  const std::vector<bool> made = made_by_program(plan_);
  Contents contents(kPart, 0);
  for (std::uint32_t file = 0; file < plan_.files.size(); ++file) {
    if (interrupted != 0) throw Error(DC_E_STOPPED, "interrupted while the files were made");
    const File& one = plan_.files[file];
    if (one.initial_bytes > 0 || (!made[file] && !one.name.empty())) make_file(file, contents, interrupted);
  }
  for (const Directory& one : directories_) ::fsync(one.descriptor);
}

void PlayFolder::clear() {
  for (std::uint32_t file = 0; file < places_.size(); ++file)
    if (directories_[places_[file].directory].descriptor >= 0) unlink(file);
  for (std::size_t i = directories_.size(); i-- > 1;) {
    Directory& one = directories_[i];
    if (one.descriptor < 0) continue;
    ::close(std::exchange(one.descriptor, -1));
    ::unlinkat(directories_[one.parent].descriptor, one.name.c_str(), AT_REMOVEDIR);
  }
}

void PlayFolder::remove() {
  if (keeps_ || name_.empty()) return;
  clear();
  const std::string name = std::exchange(name_, "");
  if (::unlinkat(on_, name.c_str(), AT_REMOVEDIR) != 0)
    throw Error(DC_E_IO, format("'{}' is left: {}; look what is in it, and remove it", path_, text_of_errno(errno)));
}

int PlayFolder::open(std::uint32_t file, int flags) const {
  const Place& place = places_[file];
  return ::openat(directories_[place.directory].descriptor, place.name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
}

int PlayFolder::stat(std::uint32_t file, struct stat& found) const {
  const Place& place = places_[file];
  return ::fstatat(directories_[place.directory].descriptor, place.name.c_str(), &found, AT_SYMLINK_NOFOLLOW);
}

int PlayFolder::unlink(std::uint32_t file) const {
  const Place& place = places_[file];
  return ::unlinkat(directories_[place.directory].descriptor, place.name.c_str(), 0);
}

}  // namespace damaris::replay
