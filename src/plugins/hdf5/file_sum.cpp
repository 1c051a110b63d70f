#include "file_sum.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/own_file.hpp"
#include "failure.hpp"
#include "plugins/reduce/crc32.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;

}  // namespace

ReadDescriptor::ReadDescriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (number_ < 0) throw_system_failure(errno, "open", path);
  if (is_stored_file(number_)) return;
  ::close(number_);
  throw Failure(path + " is no regular file", EINVAL);
}

ReadDescriptor::~ReadDescriptor() { ::close(number_); }

FileSum sum_of_file(const std::string& path, std::uint64_t begin, std::uint64_t end,
                    const std::function<void(std::uint64_t)>& progress) {
  const ReadDescriptor file(path);
  std::vector<char> buffer(kReadBytes);
  FileSum sum;
  while (begin + sum.bytes < end) {
    const std::uint64_t at = begin + sum.bytes;
    const auto wanted = static_cast<std::size_t>(std::min(kReadBytes, end - at));
    const ssize_t got = ::pread(file.number(), buffer.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_failure(errno, "read", path);
    if (got == 0) break;
    sum.checksum = reduce::crc32(buffer.data(), static_cast<std::size_t>(got), sum.checksum);
    sum.bytes += static_cast<std::uint64_t>(got);
    if (progress) progress(sum.bytes);
  }
  return sum;
}

}  // namespace damaris::hdf5
