#include "whole_lines.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include "../system_failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a line, as of a step with a million datasets

}  // namespace

bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take) {
  const auto fail = [&path](const std::string& why, int error) { throw Failure("cannot read " + path + ": " + why, error); };
  errno = 0;
  std::ifstream file = open_to_read(path);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file) fail(errno == EINVAL ? why_not_own(path, errno) : std::strerror(errno), errno);
  file.seekg(static_cast<std::streamoff>(from));
  errno = 0;
  std::string line;
  for (std::vector<char> block(kBlockBytes); file.read(block.data(), kBlockBytes), file.gcount() > 0;) {
    const char* at = block.data();
    const char* const end = at + file.gcount();
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      const char* const newline = static_cast<const char*>(found);
      line.append(at, newline);
      if (!take(line)) return true;
      line.clear();
      at = newline + 1;
    }
    line.append(at, end);
    if (line.size() > kMostBytes) fail("a line has no end within 256 MiB, so it is no record, or damaged", EFBIG);
  }
  if (file.bad()) fail(std::strerror(errno != 0 ? errno : EIO), errno != 0 ? errno : EIO);
  return true;
}

}  // namespace damaris::hdf5
