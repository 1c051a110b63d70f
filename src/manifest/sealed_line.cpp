#include "sealed_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

constexpr std::string_view kSeal = R"(,"crc32":")", kEnd = "\"}";
constexpr std::size_t kDigits = 8, kSealBytes = kSeal.size() + kDigits + kEnd.size();

std::string checksum_of(std::string_view text) {
  const std::uint32_t checksum = codec::crc32(text.data(), text.size());
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[checksum >> shift & 15U];
  return digits;
}

bool is_too_deep(std::string_view text) {
  constexpr int kMaxDepth = 64;
  int depth = 0;
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size() && depth <= kMaxDepth; ++i) {
    const char c = text[i];
    if (in_quotes && c == '\\') ++i;
    if (c == '"') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
  }
  return depth > kMaxDepth;
}

}  // namespace

std::string sealed(std::string object) {
  object.pop_back();
  const std::string checksum = checksum_of(object);
  return object.append(kSeal).append(checksum).append(kEnd);
}

bool is_whole(std::string_view line) {
  if (line.size() < kSealBytes || is_too_deep(line)) return false;
  const std::string_view body = line.substr(0, line.size() - kSealBytes);
  return line.substr(body.size()) == std::string(kSeal) + checksum_of(body) + std::string(kEnd);
}

namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;  // enough for a step with a million datasets

}  // namespace

bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take) {
  const auto fail = [&path](const std::string& why, int error) { throw Failure("cannot read " + path + ": " + why, error); };
  const StoredFileReader file(path);
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file.is_open()) fail(why_not_read(path, errno), errno);
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
    if (line.size() > kMaxLineBytes) fail("a line is longer than 256 MiB, so the file is damaged or not a manifest", EFBIG);
  }
}

}  // namespace damaris::manifest
