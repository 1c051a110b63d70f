#include "write_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "codec/checksum.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::size_t kWorthKnowing = 4096;  // bytes: smaller writes are mostly metadata, much of which is written twice
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Extends the checksum over `size_bytes` bytes by reading them.
bool read_over(std::uint64_t offset, std::uint64_t size_bytes, const FileChecksum::Read& read, std::uint32_t& checksum) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes, kReadBytes)));
  for (std::uint64_t done = 0; done < size_bytes;) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes - done, buffer.size()));
    if (!read(offset + done, buffer.data(), part)) return false;
    checksum = codec::crc32(buffer.data(), part, checksum);
    done += part;
  }
  return true;
}

}  // namespace

void FileChecksum::wrote(std::uint64_t offset, const void* data, std::size_t size_bytes) {
  forget(offset, size_bytes);
  if (size_bytes >= kWorthKnowing) runs_[offset] = {size_bytes, codec::crc32(data, size_bytes)};
}

void FileChecksum::wrote(std::uint64_t offset, std::size_t size_bytes, std::uint32_t checksum) {
  forget(offset, size_bytes);
  if (size_bytes > 0) runs_[offset] = {size_bytes, checksum};
}

void FileChecksum::forget(std::uint64_t offset, std::uint64_t size_bytes) {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin() && std::prev(run)->first + std::prev(run)->second.size_bytes > offset) --run;
  while (run != runs_.end() && run->first < offset + size_bytes) run = runs_.erase(run);
}

bool FileChecksum::of_file(std::uint64_t size_bytes, const Read& read, std::uint32_t& checksum) const {
  checksum = 0;
  std::uint64_t end = 0;
  for (const auto& [offset, run] : runs_) {
    if (offset + run.size_bytes > size_bytes) break;  // the file was truncated
    if (!read_over(end, offset - end, read, checksum)) return false;
    checksum = codec::crc32_joined(checksum, run.checksum, run.size_bytes);
    end = offset + run.size_bytes;
  }
  return read_over(end, size_bytes - end, read, checksum);
}

namespace {

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
void WriteTarget::refuse_in_forks() noexcept {
  if (error_ == 0 && creator_pid_ != ::getpid()) error_ = EPERM;
}

void WriteTarget::write(std::uint64_t offset, const void* data, std::size_t size) noexcept {
  refuse_in_forks();
  if (error_ == 0) error_ = write_whole(descriptor_, static_cast<const std::byte*>(data), size, offset);
  if (error_ != 0) return;
  behind_ += size;
  if (!early_ || behind_ < kWriteBackBytes) return;
  behind_ = 0;
  ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);  // a failure will occur again in fsync
}

void WriteTarget::write(Kind kind, std::uint64_t offset, const void* data, std::size_t size) noexcept {
  write(offset, data, size);
  note([&] { checksum_.wrote(offset, data, size); });
  if (error_ != 0 && kind == Kind::metadata) keep(offset, data, size);
}

void WriteTarget::write(std::uint64_t offset, const void* data, std::size_t size, std::uint32_t checksum) noexcept {
  write(offset, data, size);
  note([&] { checksum_.wrote(offset, size, checksum); });
}

// Other failures will show up in the writes, if they matter.
void WriteTarget::reserve(std::uint64_t size) noexcept {
  refuse_in_forks();
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
  const auto from_file = [&](std::uint64_t offset, void* data, std::size_t size_bytes) { return read(offset, data, size_bytes); };
  const std::uint64_t end = size();
  bool is_known = false;
  note([&] { is_known = error_ == 0 && checksum_.of_file(end, from_file, checksum); });
  return is_known;
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
  refuse_in_forks();
  if (error_ == 0 && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) error_ = errno;
}

std::uint64_t WriteTarget::size() noexcept {
  struct stat facts = {};
  if (::fstat(descriptor_, &facts) == 0) return static_cast<std::uint64_t>(facts.st_size);
  if (error_ == 0) error_ = errno;
  return 0;
}

void AlignedWriter::add(const std::byte* data, std::size_t size, std::uint32_t checksum) {
  if (data != data_ + size_) flush();
  const bool reaches = size >= room();
  if (size_ == 0) data_ = data;
  checksum_ = size_ == 0 ? checksum : codec::crc32_joined(checksum_, checksum, size);
  size_ += size;
  end_ += size;
  if (reaches) flush();
}

void AlignedWriter::flush() {
  const std::size_t size = std::exchange(size_, 0);
  if (size > 0) target_.write(end_ - size, data_, size, checksum_);
}

}  // namespace damaris::hdf5
