#include "core/shm/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/own_file.hpp"
#include "core/base/text.hpp"
#include "core/shm/layout.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace damaris::shm {
namespace {

namespace ipc = boost::interprocess;
using Object = ipc::shared_memory_object;

const std::string kFolder = "/dev/shm";
constexpr const char* kRoomRemedy =
    "make <buffer size=...> smaller, remove what other jobs left in /dev/shm, or give the container a larger /dev/shm";

std::uint64_t free_bytes_of_shm() {
  struct statvfs info = {};
  if (::statvfs(kFolder.c_str(), &info) != 0) throw system_error(DC_E_SHM, "cannot inspect /dev/shm", errno, "mount a tmpfs there");
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

int handle_of(const Object& object) noexcept { return object.get_mapping_handle().handle; }

// Runs a call of Boost. Returns the errno with which it failed, or 0.
template <class Call>
int errno_of(const Call& call) {
  try {
    call();
    return 0;
  } catch (const ipc::interprocess_exception& error) {
    return error.get_native_error() != 0 ? error.get_native_error() : EINVAL;
  }
}

// For mapped_region: anonymous memory without an object.
struct Anonymous {
  static ipc::mapping_handle_t get_mapping_handle() noexcept { return {-1, false}; }
};

template <class Mappable>
std::unique_ptr<ipc::mapped_region> mapped(const Mappable& what, ipc::mode_t mode, std::uint64_t bytes,
                                           ipc::map_options_t options = ipc::default_map_options) {
  std::unique_ptr<ipc::mapped_region> mapping;
  const auto map = [&] { mapping = std::make_unique<ipc::mapped_region>(what, mode, 0, bytes, nullptr, options); };
  if (const int failure = errno_of(map); failure != 0)
    throw system_error(DC_E_SHM, format("cannot map {} of memory", size_text(bytes)), failure,
                       "check the limits of the process (ulimit -v)");
  return mapping;
}

struct flock lock_of(std::uint64_t part, short type) noexcept {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(part);
  lock.l_len = 1;
  return lock;
}

// Older kernels abort and undo the whole call on a signal: a program with a timer would never get a large arena.
int fallocate_in_pieces(int descriptor, std::uint64_t offset, std::uint64_t bytes, bool in_use) noexcept {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;  // a fraction of a millisecond
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(kPiece, bytes - done);
    const int failure = ::posix_fallocate(descriptor, static_cast<off_t>(offset + done), static_cast<off_t>(piece));
    if (failure == 0) done += piece;
    if (failure == 0 || failure == EINTR) continue;
    const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;  // a partial allocation is useless: free it
    if (!in_use && done > 0) ::fallocate(descriptor, punch, static_cast<off_t>(offset), static_cast<off_t>(done));
    return failure;
  }
  return 0;
}

void require_room(const std::string& name, std::uint64_t bytes) {
  const std::uint64_t left = free_bytes_of_shm();
  if (left >= bytes) return;
  throw Error(DC_E_SHM, format("region {}: {} needed but only {} free in /dev/shm; {}", name, size_text(bytes), size_text(left),
                               kRoomRemedy));
}

Error not_made(const std::string& name, int error) {
  return system_error(DC_E_SHM, format("cannot make the region {}", name), error, "check /dev/shm and its permissions");
}

Error not_opened(const std::string& name, int error) {
  if (error == ENOENT)
    return system_error(DC_E_SHM, format("cannot open the region {}", name), error, "is the server of this node running?");
  return Error(DC_E_SHM, format("cannot open the region {}: {}", name, why_not_own(kFolder + name, error)));
}

}  // namespace

SharedMemory::SharedMemory() = default;

SharedMemory SharedMemory::create(const std::string& name, std::uint64_t bytes, std::uint64_t allocated_bytes) {
  require_room(name, bytes);
  Object object;
  const auto make = [&] { object = Object(ipc::create_only, name.c_str(), ipc::read_write, ipc::permissions(0600)); };
  if (const int failure = errno_of(make); failure != 0) throw not_made(name, failure);
  SharedMemory memory;
  memory.name_ = name;
  memory.owns_name_ = true;
  // Anew: the mapping keeps Boost's open file open, so a lock of that one would last as long as the mapping of a forked child.
  memory.take_descriptor(open_closed_in_forks(kFolder + name, O_RDWR));
  if (memory.descriptor_ < 0) throw not_made(name, errno);
  struct stat info = {};
  if (::fstat(handle_of(object), &info) != 0 || info.st_uid != ::geteuid() || (info.st_mode & 0777) != 0600)
    throw not_made(name, EPERM);
  // Any process of this user may remove a region whose lock is free: so take the lock before the region has contents.
  if (!memory.identity_.is(info) || !memory.try_lock(kServerPart) || !memory.has_name())
    throw Error(DC_E_SHM, format("another process has taken the new region {} for one of a dead server; start again", name));
  if (const int failure = errno_of([&] { object.truncate(static_cast<off_t>(bytes)); }); failure != 0)
    throw system_error(DC_E_SHM, format("cannot size the region {} to {}", name, size_text(bytes)), failure, kRoomRemedy);
  memory.use(mapped(object, ipc::read_write, bytes));
  memory.allocate(0, allocated_bytes);
  return memory;
}

// open_own comes first, because Boost's open would block on a lease that another user holds on a file of that name. Its descriptor is kept,
// and Boost must open the same file.
SharedMemory SharedMemory::open(const std::string& name, std::uint64_t least_bytes) {
  SharedMemory memory;
  memory.take_descriptor(open_closed_in_forks(kFolder + name, O_RDWR));
  if (memory.descriptor_ < 0) throw not_opened(name, errno);
  memory.name_ = name;
  Object object;
  const auto open = [&] { object = Object(ipc::open_only, name.c_str(), ipc::read_write); };
  if (const int failure = errno_of(open); failure != 0) throw not_opened(name, failure);
  struct stat info = {};
  if (::fstat(handle_of(object), &info) != 0 || !memory.identity_.is(info))
    throw Error(DC_E_SHM, format("another file has taken the place of the region {}: not attaching to it", name));
  if (info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    throw Error(DC_E_SHM, format("the region {} is not this user's own (mode 0600): not attaching to it", name));
  if (static_cast<std::uint64_t>(info.st_size) < least_bytes)
    throw Error(DC_E_SHM, format("the region {} is too short to be one ({} bytes)", name, info.st_size));
  memory.use(mapped(object, ipc::read_write, static_cast<std::uint64_t>(info.st_size)));
  return memory;
}

SharedMemory SharedMemory::make_private(std::uint64_t bytes) {
  SharedMemory memory;
  memory.use(mapped(Anonymous(), ipc::copy_on_write, bytes, MAP_ANONYMOUS));  // copy_on_write: MAP_PRIVATE
  return memory;
}

SharedMemory SharedMemory::view(std::byte* data, std::uint64_t bytes) {
  SharedMemory memory;
  memory.data_ = data;
  memory.bytes_ = bytes;
  return memory;
}

void SharedMemory::use(std::unique_ptr<ipc::mapped_region> mapping) noexcept {
  mapping_ = std::move(mapping);
  data_ = static_cast<std::byte*>(mapping_->get_address());
  bytes_ = mapping_->get_size();
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : mapping_(std::move(other.mapping_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      name_(std::exchange(other.name_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      own_(std::move(other.own_)),
      identity_(other.identity_),
      owns_name_(std::exchange(other.owns_name_, false)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(own_, other.own_);
  std::swap(identity_, other.identity_);
  std::swap(owns_name_, other.owns_name_);
  return *this;
}

SharedMemory::~SharedMemory() {
  mapping_.reset();  // before the locks are released: unmapping a large region takes a while
  close_descriptor();
  unlink_name();
}

// Preserves errno if there is no descriptor.
void SharedMemory::take_descriptor(int descriptor) noexcept {
  struct stat facts = {};
  if ((descriptor_ = descriptor) < 0) return;
  if (::fstat(descriptor, &facts) == 0) identity_ = FileIdentity(facts);
}

void SharedMemory::close_descriptor() noexcept {
  keep_in_forks(descriptor_);
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void SharedMemory::allocate(std::uint64_t offset, std::uint64_t bytes, bool in_use) {
  if (bytes == 0) return;
  if (descriptor_ >= 0) {
    if (const int failure = fallocate_in_pieces(descriptor_, offset, bytes, in_use); failure != 0)
      throw system_error(DC_E_SHM, format("cannot allocate {} for the region {}", size_text(bytes), name_), failure, kRoomRemedy);
  }
  const std::uint64_t begin = offset / kPage * kPage;
  const std::uint64_t end = offset + bytes;
  if (::madvise(data_ + begin, end - begin, MADV_POPULATE_WRITE) == 0) return;
  // Before Linux 5.14, one write per page has the same effect. Atomic, because another client of a pool may be writing there.
  for (std::uint64_t at = offset; at < end; at += kPage)
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(data_ + at), 0, __ATOMIC_RELAXED);
}

void SharedMemory::populate(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const std::uint64_t begin = offset / kPage * kPage;
  ::madvise(data_ + begin, offset + bytes - begin, MADV_POPULATE_READ);
}

// A page that is swapped out is not a hole. Without a descriptor or on a file system that does not know holes nothing counts as one.
bool SharedMemory::is_hole(std::uint64_t offset) const noexcept {
  if (descriptor_ < 0) return false;
  const off_t at = static_cast<off_t>(offset), data = ::lseek(descriptor_, at, SEEK_DATA);
  return data < 0 ? errno == ENXIO : data > at;
}

// mincore first: it is bounded by the range, whereas SEEK_HOLE would scan all pages behind it, once for each arena.
std::uint64_t SharedMemory::backed_bytes(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (name_.empty() || bytes == 0) return bytes;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> resident;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t begin = offset / page * page; begin < end; begin += resident.size() * page) {
    const std::uint64_t pages = std::min<std::uint64_t>(resident.size(), (end - begin + page - 1) / page);
    if (::mincore(data_ + begin, pages * page, resident.data()) != 0) resident.fill(0);
    for (std::uint64_t i = 0; i < pages; ++i)
      if ((resident[i] & 1) == 0 && is_hole(begin + i * page)) return std::max(offset, begin + i * page) - offset;
  }
  return bytes;
}

bool SharedMemory::try_lock(std::uint64_t part) {
  const std::lock_guard guard(own_->mutex);
  if (own_->parts.count(part) > 0) return false;
  struct flock lock = lock_of(part, F_WRLCK);
  if (!name_.empty() && ::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    throw system_error(DC_E_SHM, format("cannot lock a part of the region {}", name_), errno, "check the limits of the system");
  }
  own_->parts.insert(part);
  return true;
}

void SharedMemory::unlock(std::uint64_t part) noexcept {
  const std::lock_guard guard(own_->mutex);
  own_->parts.erase(part);
  struct flock lock = lock_of(part, F_UNLCK);
  if (!name_.empty()) ::fcntl(descriptor_, F_OFD_SETLK, &lock);
}

// If the kernel does not answer, no living process may be taken for dead.
bool SharedMemory::is_held(std::uint64_t part) const noexcept {
  const std::lock_guard guard(own_->mutex);
  struct flock lock = lock_of(part, F_WRLCK);
  return name_.empty() || own_->parts.count(part) > 0 || ::fcntl(descriptor_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool SharedMemory::has_name() const noexcept {
  struct stat info = {};
  return ::lstat((kFolder + name_).c_str(), &info) == 0 && identity_.is(info);
}

void SharedMemory::unlink_name() noexcept {
  if (owns_name_ && creator_.is_this_process()) remove(name_);
  owns_name_ = false;
}

void SharedMemory::remove(const std::string& name) noexcept { Object::remove(name.c_str()); }

}  // namespace damaris::shm
