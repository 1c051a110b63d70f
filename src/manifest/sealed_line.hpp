// The lines of the manifest: each has a checksum and is read whole or not at all. A read error never looks like an empty file,
// because callers begin an empty manifest anew, or remove it.
// Used by: writers and readers of the manifest and of unrecorded steps, on any thread.
// Before it: own_file.hpp opens the file. After it: entries.hpp, reader.hpp and unrecorded.hpp interpret each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace damaris::manifest {

// A CRC-32 as eight lower-case hexadecimal digits.
using Seal = std::string;

// The size of the seal at the end of a line.
constexpr std::size_t kSealBytes = sizeof(R"(,"crc32":"01234567"})") - 1;

// `object`: the text of a JSON object with at least one key. `after`: the seal of the previous line; "" if there is none.
// Returns the object with the keys "after", unless it is "", and "crc32", the checksum of all preceding bytes of the line.
std::string sealed(std::string object, const Seal& after);

// The seal of a line without newline, or of its last kSealBytes; "" if it has none. Does not check the seal.
Seal seal_of(std::string_view line);

// Whether objects and lists are nested more deeply than any of ours: the recursion of the parser, and of copies of its result, is to be
// bounded for text of untrusted origin.
bool is_too_deep(std::string_view text);

// False if the line has a seal that does not match its bytes, or is nested too deeply.
bool is_trustworthy(std::string_view line);

// Whether the line begins a run, even if it is damaged: the lines after it must not count as those of the previous run.
bool begins_run(std::string_view line);

// Checks the lines of a file in order. Detects every changed line, and every place where lines are missing, repeated or exchanged;
// only missing lines at the end cannot be detected.
class SealedLines {
 public:
  enum class Verdict { fine, changed, out_of_place };
  // `changed`: the contents of the line are not to be trusted. `out_of_place`: the line is unchanged, but does not follow the
  // previous one.
  Verdict check(std::string_view line);
  // The verdict as a sentence for the user; "" for Verdict::fine.
  static const char* sentence(Verdict verdict);
  // The number of lines at the beginning without a seal, written by an earlier version: changes to them cannot be detected.
  std::uint64_t uncovered() const { return uncovered_; }
  // The first line refers to a previous one.
  bool begins_in_the_middle() const { return begins_in_the_middle_; }

 private:
  enum class Last { none, uncovered, sealed, unknown };
  Last last_ = Last::none;
  Seal seal_;  // of the last line
  std::uint64_t uncovered_ = 0;
  bool begins_in_the_middle_ = false;
};

// Passes each line from byte `from` on to `take`, without newline, until it returns false. Ignores a last line without newline,
// which is still being written. Returns false if the file does not exist. Throws Failure if it is unreadable.
bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take);

}  // namespace damaris::manifest
