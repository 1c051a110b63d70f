#include "hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <new>

#include "codec/checksum.hpp"
#include "handle.hpp"
#include "new_dataset.hpp"

// From HDF5 1.14 on, drivers have a separate header.
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace damaris::hdf5 {
namespace {

constexpr std::size_t kWorthKnowing = 4096;  // bytes: smaller writes are mostly metadata, much of which is written twice
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;
constexpr std::size_t kWriteBackBytes = std::size_t{8} << 20;

// Writes all bytes. Returns 0 or errno.
int write_whole(int descriptor, const std::byte* data, std::size_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t written = ::pwrite(descriptor, data, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    data += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace

WriteTarget::WriteTarget(int descriptor) : creator_pid_(::getpid()), descriptor_(descriptor) {}

template <class Note>
void WriteTarget::note(Note&& note) noexcept {
  try {
    note();
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
  }
}

// HDF5 finishes its files at the exit of every process, including forks; but only the creator may write this one.
void WriteTarget::fail_in_forks() noexcept {
  if (error_ == 0 && creator_pid_ != ::getpid()) error_ = EPERM;
}

void WriteTarget::write(std::uint64_t offset, const void* data, std::size_t size) noexcept {
  fail_in_forks();
  if (error_ == 0) error_ = write_whole(descriptor_, static_cast<const std::byte*>(data), size, offset);
  if (error_ != 0) return;
  behind_ += size;
  if (!early_ || behind_ < kWriteBackBytes) return;
  behind_ = 0;
  ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);  // a failure will occur again in fsync
}

void WriteTarget::write(Kind kind, std::uint64_t offset, const void* data, std::size_t size) noexcept {
  write(offset, data, size);
  note([&] { know(offset, {size, size < kWorthKnowing ? std::nullopt : std::optional(codec::crc32(data, size))}); });
  if (error_ != 0 && kind == Kind::metadata) keep(offset, data, size);
}

void WriteTarget::write(std::uint64_t offset, const void* data, std::size_t size, std::uint32_t checksum) noexcept {
  write(offset, data, size);
  note([&] { know(offset, {size, checksum}); });
}

// Other failures will show up in the writes, if they matter.
void WriteTarget::reserve(std::uint64_t size) noexcept {
  fail_in_forks();
  if (error_ != 0) return;
  reserved_ = ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) == 0;
  if (!reserved_ && (errno == ENOSPC || errno == EDQUOT)) error_ = errno;
}

void WriteTarget::trim() noexcept {
  if (!reserved_) return;
  const std::uint64_t end = size();  // of which a failure says nothing
  if (error_ == 0) resize(end);
}

bool WriteTarget::checksum(std::uint32_t& checksum) noexcept {
  const std::uint64_t bytes = size();
  checksum = 0;
  bool is_read = true;
  note([&] {
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, kReadBytes)));
    std::uint64_t end = 0;
    const auto read_to = [&](std::uint64_t next) {
      for (std::uint64_t part = 0; is_read && end < next; end += part) {
        part = std::min<std::uint64_t>(next - end, buffer.size());
        is_read = read(end, buffer.data(), static_cast<std::size_t>(part));
        checksum = codec::crc32(buffer.data(), static_cast<std::size_t>(part), checksum);
      }
    };
    for (const auto& [offset, run] : runs_) {
      if (offset + run.bytes > bytes) break;  // the file was truncated
      read_to(offset);
      checksum = codec::crc32_joined(checksum, *run.checksum, run.bytes);
      end = offset + run.bytes;
    }
    read_to(bytes);
  });
  return is_read && error_ == 0;
}

void WriteTarget::know(std::uint64_t offset, const Run& run) {
  auto next = runs_.upper_bound(offset);
  if (next != runs_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > offset) --next;
  while (next != runs_.end() && next->first < offset + run.bytes) next = runs_.erase(next);
  if (run.checksum && run.bytes > 0) runs_[offset] = run;
}

void WriteTarget::keep(std::uint64_t offset, const void* data, std::size_t size) noexcept {
  const auto* bytes = static_cast<const std::byte*>(data);
  note([&] { kept_.push_back({offset, {bytes, bytes + size}}); });
}

bool WriteTarget::read(std::uint64_t offset, void* data, std::size_t size) noexcept {
  auto* const target = static_cast<std::byte*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(descriptor_, target + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  std::memset(target + done, 0, size - done);
  for (const Kept& kept : kept_) {
    const std::uint64_t low = std::max(offset, kept.offset), high = std::min(offset + size, kept.offset + kept.bytes.size());
    if (low < high) std::memcpy(target + (low - offset), kept.bytes.data() + (low - kept.offset), high - low);
  }
  return true;
}

void WriteTarget::resize(std::uint64_t size) noexcept {
  fail_in_forks();
  if (error_ == 0 && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) error_ = errno;
}

std::uint64_t WriteTarget::size() noexcept {
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) == 0) return static_cast<std::uint64_t>(facts.st_size);
  if (error_ == 0) error_ = errno;
  return 0;
}

namespace {

// Copied by HDF5 from the access properties to the open file.
struct Info {
  WriteTarget* target;
};

// An open file as HDF5 sees it; HDF5's part comes first.
struct DriverFile {
  H5FD_t base = {};
  WriteTarget* target = nullptr;
  haddr_t end_of_allocation = 0;
  haddr_t end_of_file = 0;
};

DriverFile& of(H5FD_t* file) { return *reinterpret_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *reinterpret_cast<const DriverFile*>(file); }

H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const Info*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) DriverFile;
  if (file == nullptr) return nullptr;
  file->target = info->target;
  file->end_of_file = info->target->size();
  return &file->base;
}

herr_t close(H5FD_t* file) {
  delete &of(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const std::less<const WriteTarget*> before;
  return before(of(a).target, of(b).target) ? -1 : before(of(b).target, of(a).target) ? 1 : 0;
}

// Metadata is aggregated into few writes; raw data is not, because it comes in bricks.
herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_allocation; }

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).end_of_allocation = address;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_file; }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* data) {
  return of(file).target->read(address, data, size) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size, const void* data) {
  of(file).target->write(type == H5FD_MEM_DRAW ? WriteTarget::Kind::raw : WriteTarget::Kind::metadata, address, data, size);
  of(file).end_of_file = std::max(of(file).end_of_file, address + size);
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  if (of(file).end_of_file == of(file).end_of_allocation) return 0;
  of(file).target->resize(of(file).end_of_allocation);
  of(file).end_of_file = of(file).end_of_allocation;
  return 0;
}

H5FD_class_t make_driver() {
  H5FD_class_t driver = {};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);  // from the range reserved for users of the library
#endif
  driver.name = "damaris";
  driver.maxaddr = std::numeric_limits<std::int64_t>::max();
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Info);
  driver.open = open;
  driver.close = close;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  const H5FD_mem_t dichotomy[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(dichotomy), std::end(dichotomy), driver.fl_map);
  return driver;
}

// Registered once, and again after an application has closed HDF5.
hid_t driver_id() {
  static const H5FD_class_t driver = make_driver();
  static hid_t id = H5I_INVALID_HID;
  if (H5Iget_type(id) != H5I_VFL) id = checked(H5FDregister(&driver), "register the file driver");
  return id;
}

constexpr hsize_t kAlignedFrom = hsize_t{256} << 10, kPage = 4096;  // bytes

Properties access_properties(WriteTarget& target) {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  // For compact groups and attributes larger than 64 KiB (lists of many clients); readable since HDF5 1.8.
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  // The kernel copies whole pages faster.
  checked(H5Pset_alignment(access.id(), kAlignedFrom, kPage), "set the file's alignment");
  const Info info = {&target};  // it must outlive them
  checked(H5Pset_driver(access.id(), driver_id(), &info), "set the file's driver");
  return access;
}

// HDF5 would take a file whose size is refused for an empty one.
hid_t open_file(const std::string& path, Hdf5File::Mode mode, const Properties& access, WriteTarget& target) {
  if (target.size() == 0 && target.error() != 0) throw_system_failure(target.error(), "look at", path);
  return mode == Hdf5File::Mode::create ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id())
                                        : H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id());
}

}  // namespace

Hdf5File::Hdf5File(int descriptor, const std::string& path, Mode mode)
    : path_(path),
      target_(descriptor),
      file_(open_file(path, mode, access_properties(target_), target_), "open as an HDF5 file", path),
      links_(link_properties()),
      contiguous_(contiguous_properties()) {}

void Hdf5File::check() const {
  if (target_.error() != 0) throw_system_failure(target_.error(), "write to", path_);
}

void Hdf5File::close() {
  file_.close("close", path_);
  target_.trim();
  check();
}

std::uint32_t Hdf5File::checksum() {
  std::uint32_t checksum = 0;
  if (!target_.checksum(checksum)) throw_system_failure(target_.error() != 0 ? target_.error() : EIO, "read again", path_);
  return checksum;
}

}  // namespace damaris::hdf5
