// The lines of a log: each has a checksum and is read whole or not at all. A read error never looks like an empty file.
// Used by: the writer and the readers of a log, on any thread.
// Before it: own_file.hpp opens the file. After it: records.hpp interprets each line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace damaris::manifest {

// `object`: the text of a JSON object with at least one key. Returns it with a further key at its end: "crc32", the checksum of all
// preceding bytes, as eight lower-case hexadecimal digits.
std::string sealed(std::string object);

// Whether the line, without newline, has a checksum that matches its bytes. False also if objects and lists are nested more deeply than any
// of ours: the recursion of the parser, and of copies of its result, has a bound for text of untrusted origin.
bool is_whole(std::string_view line);

// Passes each line from byte `from` on to `take`, without newline, until it returns false. Ignores a last line without newline,
// which is still being written. Returns false if the file does not exist. Throws Failure if it is unreadable.
bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take);

}  // namespace damaris::manifest
