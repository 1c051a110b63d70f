// The lines of the manifest: each sealed with a checksum of its own, read whole or not at all. What cannot be read is an error, and never a file
// without lines: a manifest that seems to be empty is one to begin anew, or to remove.
// Used by: writers and readers of the manifest and of what is not yet recorded, on any thread.
// Before it: own_file.hpp opens the file. After it: entries.hpp, reader.hpp and unrecorded.hpp make sense of each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace damaris::manifest {

// CRC-32 as eight hexadecimal digits, in lower case.
using Seal = std::string;

// How many of a line's last bytes hold its seal.
constexpr std::size_t kSealBytes = sizeof(R"(,"crc32":"01234567"})") - 1;

// `object`: the text of a JSON object of at least one key. `after`: the seal of the line before; "": there is none, or it has none.
// Returns the object with the keys "after", unless it is "", and "crc32": that of all bytes of the line before this key.
std::string sealed(std::string object, const Seal& after);

// Of a line without its end, or of its last kSealBytes. "": it has no seal. Whether the seal is right is not looked at.
Seal seal_of(std::string_view line);

// False: the line has a seal, which is not that of its bytes.
bool may_be_believed(std::string_view line);

// Whether the line begins a run, be it that it is damaged in a part of its own: its lines must not count as those of the run before.
bool begins_run(std::string_view line);

// Goes along lines in the order in which they stand. It finds each line that has changed, and each place where lines are missing,
// repeated or exchanged; only lines that are missing at the end leave nothing to find them by.
class SealedLines {
 public:
  enum class Says { fine, changed, out_of_place };
  // `changed`: nothing of the line may be believed. `out_of_place`: it is as it was written, but does not follow on the line before.
  Says take(std::string_view line);
  // What is wrong, for a user: "" for Says::fine.
  static const char* sentence(Says says);
  // Lines of the beginning that have no seal, as an earlier version wrote them: nobody can say whether they have changed.
  std::uint64_t uncovered() const { return uncovered_; }
  // The first line names one before it.
  bool begins_in_the_middle() const { return begins_in_the_middle_; }

 private:
  enum class Last { none, uncovered, sealed, unknown };
  Last last_ = Last::none;
  Seal seal_;  // of the last line
  std::uint64_t uncovered_ = 0;
  bool begins_in_the_middle_ = false;
};

// Hands over each line from byte `from` on, without its end, until `take` returns false. A last line without an end is one that is being
// written, and left out. Returns false where there is no such file. Throws Failure for one that is there and cannot be read.
bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take);

}  // namespace damaris::manifest
