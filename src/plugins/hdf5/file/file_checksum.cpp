#include "file_checksum.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "codec/checksum.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::size_t kWorthKnowing = 4096;  // bytes: smaller writes are mostly metadata, of which much is written twice
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Goes on with the checksum over `size_bytes` that have to be read.
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
    if (offset + run.size_bytes > size_bytes) break;  // the file was cut
    if (!read_over(end, offset - end, read, checksum)) return false;
    checksum = codec::crc32_joined(checksum, run.checksum, run.size_bytes);
    end = offset + run.size_bytes;
  }
  return read_over(end, size_bytes - end, read, checksum);
}

}  // namespace damaris::hdf5
