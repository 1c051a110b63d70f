#include "core/base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/base/own_file.hpp"

namespace damaris {
namespace {

// The file's current path, because its folder may have been moved; "" if unknown.
std::string path_of(int descriptor) {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unknown).string();
}

}  // namespace

void sync_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_system_failure(errno, "open the folder", folder);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder, and need not.
  if (error != 0 && error != EINVAL && error != ENOTSUP) throw_system_failure(error, "sync the folder", folder);
}

int write_all(int descriptor, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    done += static_cast<std::size_t>(written);
  }
  return 0;
}

OutputFile::OutputFile(std::string temporary_path, std::string final_path)
    : temporary_path_(std::move(temporary_path)), final_path_(std::move(final_path)) {
  // The descriptor stays open from before the first write until after the last, so fsync reports every failed write-back.
  const std::string start = std::exchange(temporary_path_, {}) + ".";
  descriptor_ = make_own(start, temporary_path_, O_RDWR, 0666);
  if (descriptor_ < 0) throw_system_failure(errno, "create the file", temporary_path_);
}

OutputFile::~OutputFile() {
  if (!published_ && ::unlink(temporary_path_.c_str()) != 0) ::unlink(path_of(descriptor_).c_str());
  ::close(descriptor_);
}

void OutputFile::append(const std::string& bytes) {
  if (const int error = write_all(descriptor_, bytes); error != 0) throw_system_failure(error, "write to", temporary_path_);
}

void OutputFile::sync() {
  // Never retried: the kernel may have dropped pages that it could not write, and a second fsync would not report them.
  if (::fsync(descriptor_) != 0) throw_system_failure(errno, "sync", temporary_path_);
}

std::uint64_t OutputFile::publish(bool overwrite) {
  sync();
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) != 0) throw_system_failure(errno, "look at", temporary_path_);
  if (!overwrite && ::access(final_path_.c_str(), F_OK) == 0) throw_system_failure(EEXIST, "name the file", final_path_);
  if (::rename(temporary_path_.c_str(), final_path_.c_str()) != 0) {
    const int error = errno;
    // Waiting does not help, and would hold up all later files.
    const bool is_taken = (error == EPERM || error == EACCES) && is_kept_for_other(final_path_);
    throw Failure("cannot rename to " + final_path_ + ": " + why_not_own(final_path_, error), is_taken ? kOwnedByOther : error);
  }
  published_ = true;
  try {
    sync_folder_of(final_path_);
  } catch (...) {
    ::unlink(final_path_.c_str());  // the name may not be durable: either a retry writes the file again, or it is absent
    throw;
  }
  return static_cast<std::uint64_t>(facts.st_size);
}

}  // namespace damaris
