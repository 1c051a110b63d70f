// The index of a log as it is in its file: the header, the entries that are whole, and what is wrong with the rest.
// Used by: the writer that goes on with a log, and the reader; one thread.
// Before it: a file that a killed server, a full disk or a stranger may have left. After it: entries that may be believed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "logs/format.hpp"

namespace damaris::logs {

struct Index {
  IndexHeader header = {};
  std::vector<IndexEntry> entries;
  std::uint64_t whole_bytes = 0;  // of the file, up to the last whole entry
  std::uint64_t torn_bytes = 0;   // behind it
  std::size_t damaged = 0;        // entries in between that are not whole

  std::string log() const;
  std::string host() const;
  bool has_appends() const;
  // The last server that began to write has ended.
  bool ended() const { return !entries.empty() && entries.back().kind == EntryKind::end; }
  // The number of the last run; none without one.
  std::optional<std::uint64_t> run() const;
};

// Nothing for an empty file, and for one that ends within its header. Throws damaris::Error: DC_E_IO if the file cannot be read or is no
// index, DC_E_VERSION for one of another version.
std::optional<Index> read_index(const std::string& path);

}  // namespace damaris::logs
