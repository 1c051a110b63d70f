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

constexpr std::string_view kSeal = R"(,"crc32":")", kAfter = R"(,"after":")", kEnd = "\"}";
constexpr std::size_t kDigits = 8;

Seal digits_of(std::uint32_t checksum) {
  Seal digits;
  for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[checksum >> shift & 15U];
  return digits;
}

bool is_digit(char one) { return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'f'); }

Seal checksum_of(std::string_view text) { return digits_of(codec::crc32(text.data(), text.size())); }

// The part of a sealed line before its seal.
std::string_view body_of(std::string_view line) { return line.substr(0, line.size() - kSealBytes); }

// The seal of the previous line, as recorded in this one.
Seal after_of(std::string_view line) {
  const std::string_view body = body_of(line);
  constexpr std::size_t kBytes = kAfter.size() + kDigits + 1;
  if (body.size() < kBytes || body.substr(body.size() - kBytes, kAfter.size()) != kAfter) return "";
  return Seal(body.substr(body.size() - kDigits - 1, kDigits));
}

}  // namespace

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

std::string sealed(std::string object, const Seal& after) {
  object.pop_back();
  if (!after.empty()) object.append(kAfter).append(after).append("\"");
  const Seal seal = checksum_of(object);
  return object.append(kSeal).append(seal).append(kEnd);
}

Seal seal_of(std::string_view line) {
  if (line.size() < kSealBytes) return "";
  line.remove_prefix(line.size() - kSealBytes);
  const std::string_view digits = line.substr(kSeal.size(), kDigits);
  const bool has_one = line.substr(0, kSeal.size()) == kSeal && line.substr(kSeal.size() + kDigits) == kEnd &&
                       std::all_of(digits.begin(), digits.end(), is_digit);
  return has_one ? Seal(digits) : "";
}

bool is_trustworthy(std::string_view line) {
  if (is_too_deep(line)) return false;
  const Seal seal = seal_of(line);
  return seal.empty() || seal == checksum_of(body_of(line));
}

// Within a string the quotes would be escaped, and no other line has such a key.
bool begins_run(std::string_view line) {
  return line.find(R"("run":)") != std::string_view::npos || line.find(R"("format":"damaris-record")") != std::string_view::npos;
}

SealedLines::Verdict SealedLines::check(std::string_view line) {
  const Last before = last_;
  const Seal expected = std::exchange(seal_, seal_of(line));
  if (seal_.empty() && !is_too_deep(line) && (before == Last::none || before == Last::uncovered)) {
    last_ = Last::uncovered;
    ++uncovered_;
    return Verdict::fine;
  }
  const bool whole = !seal_.empty() && is_trustworthy(line);
  last_ = whole ? Last::sealed : Last::unknown;
  if (!whole) return Verdict::changed;
  const Seal after = after_of(line);
  if (before == Last::none) begins_in_the_middle_ = !after.empty();
  const bool follows = before == Last::none || before == Last::unknown || after == expected;
  return follows ? Verdict::fine : Verdict::out_of_place;
}

const char* SealedLines::sentence(Verdict verdict) {
  switch (verdict) {
    case Verdict::changed:
      return "this line is damaged: its checksum does not match";
    case Verdict::out_of_place:
      return "this line does not follow the previous one: lines are missing, repeated or exchanged, or the previous one has lost "
             "its "
             "checksum";
    case Verdict::fine:
      break;
  }
  return "";
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
