// Reads a log of one server without a server: which streams it has, their bytes in order, its holes, and whether it is whole.
// Used by: `damaris stream-log`, `damaris verify`, tests; one thread.
// Before it: the files that writer.hpp has left, also of a run that goes on or was killed. After it: bytes of streams, findings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "logs/coverage.hpp"
#include "logs/index.hpp"

namespace damaris::logs {

struct Stream {
  std::uint32_t file = 0;
  std::uint64_t bytes = 0;
  std::vector<IndexEntry> pieces;  // in the order in which they were appended
};

struct Hole {
  std::string file;
  Extent place;
};

class Reader {
 public:
  // The logs of the run `run` (a basename, its .jsonl, or a folder), one for each server, in the order of their names; with `log`, only
  // those of that name. Throws Error: DC_E_ARGUMENT if there is none, otherwise as read_index.
  static std::vector<Reader> find(const std::string& run, const std::string& log = "");
  // The paths of their indexes; none if there is no log.
  static std::vector<std::string> indexes_of(const std::string& run);
  explicit Reader(const std::string& index_path);

  const std::string& path() const noexcept { return path_; }
  const Index& index() const noexcept { return index_; }
  const std::map<std::int64_t, Stream>& streams() const noexcept { return streams_; }
  // Places that clients had reserved when they died: no stream has a byte there.
  std::vector<Hole> holes() const;
  // Passes the bytes of a stream on, piece by piece, each checked first. Throws Error(DC_E_IO) at the first piece that is damaged, missing
  // or unreadable.
  using Take = std::function<void(std::string_view)>;
  void read(std::int64_t stream, const Take& take) const;
  // Reads everything; one sentence for each thing that is damaged.
  std::vector<std::string> damages() const;

 private:
  std::string path_;
  Names names_;
  Index index_;
  std::map<std::int64_t, Stream> streams_;
  std::vector<Coverage> covered_;  // by file
};

}  // namespace damaris::logs
