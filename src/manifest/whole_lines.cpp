#include "whole_lines.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of a line, as of a step with a million datasets

}  // namespace

bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take) {
  const auto fail = [&path](const std::string& why, int error) { throw Failure("cannot read " + path + ": " + why, error); };
  const StoredFileReader file(path);
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file.is_open()) fail(errno == EINVAL ? why_not_own(path, errno) : std::strerror(errno), errno);
  std::string line;
  std::vector<char> block(kBlockBytes);
  for (;;) {
    const std::ptrdiff_t got = file.read(block.data(), kBlockBytes, from);
    if (got < 0) fail(std::strerror(errno), errno);
    if (got == 0) return true;
    from += static_cast<std::uint64_t>(got);
    const char* at = block.data();
    const char* const end = at + got;
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      const char* const newline = static_cast<const char*>(found);
      line.append(at, newline);
      if (!take(line)) return true;
      line.clear();
      at = newline + 1;
    }
    line.append(at, end);
    if (line.size() > kMostBytes) fail("a line has no end within 256 MiB, so it is no manifest, or damaged", EFBIG);
  }
}

}  // namespace damaris::manifest
