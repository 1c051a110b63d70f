#include "file_sum.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;

}  // namespace

FileSum sum_of_file(const std::string& path, std::uint64_t begin, std::uint64_t end,
                    const std::function<void(std::uint64_t)>& progress) {
  const StoredFileReader file(path);
  require_open(file, path);
  std::vector<char> buffer(kReadBytes);
  FileSum sum;
  while (begin + sum.bytes < end) {
    const std::uint64_t at = begin + sum.bytes;
    const auto wanted = static_cast<std::size_t>(std::min(kReadBytes, end - at));
    const std::ptrdiff_t got = file.read(buffer.data(), wanted, at);
    if (got < 0) throw_system_failure(errno, "read", path);
    if (got == 0) break;
    sum.checksum = codec::crc32(buffer.data(), static_cast<std::size_t>(got), sum.checksum);
    sum.bytes += static_cast<std::uint64_t>(got);
    if (progress) progress(sum.bytes);
  }
  return sum;
}

}  // namespace damaris::manifest
