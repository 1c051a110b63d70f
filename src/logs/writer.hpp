// Writes one log of one server: the bytes of many appends in few writes, and behind them their entries in the index.
// Used by: the server's work thread.
// Before it: appends that lie in the region. After it: their blocks may be released, as a kill loses nothing that the kernel has; after
// sync() neither does the loss of the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "logs/coverage.hpp"
#include "logs/format.hpp"
#include "logs/index.hpp"

namespace damaris::logs {

// What a log of an earlier run is to this one. The words are those of <hdf5 exists>.
enum class Existing {
  automatic,  // as overwrite if its server came to its end; else the start fails
  overwrite,  // it is replaced with the first append
  refuse,     // the start fails
  append,     // it goes on
  recover,    // it is this run's: a recovery completes it
};

// The log that a run found at its start.
struct Before {
  enum class Kind : std::uint64_t { none, replaced, continued } kind = Kind::none;
  std::uint64_t run = 0;
};

struct LogSettings {
  std::string basename, host, name;
  int server = 0;
  int files = 1;
  std::uint64_t block_bytes = 1 << 20;  // a write crosses no multiple of it
  std::uint64_t run = 0;                // the number of this run
  Existing existing = Existing::automatic;
  Before before;  // recover: what the server that was killed had found, and had not touched if it had stored nothing
};

struct Append {
  std::uint32_t file = 0;
  std::int64_t stream = 0;
  Extent place;
  const std::byte* data = nullptr;
};

class Writer {
 public:
  // Opens the index, or makes it; looks at what is there. Throws Error, with nothing changed: DC_E_NO_OUTPUT if the folder does not take
  // files, or the log of another run is in the way; DC_E_IO, DC_E_VERSION as read_index. A recovery keeps the Error: steps and other logs must
  // not wait for this one.
  explicit Writer(const LogSettings& settings);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Why store() throws and nothing is written; null if it does not.
  const Error* block_reason() const { return block_reason_ ? &*block_reason_ : nullptr; }
  const Before& before() const { return before_; }
  // Where the first append of this run goes.
  std::uint64_t end(std::uint32_t file) const { return covered_[file].end(); }
  // Writes the bytes, then their entries. What a server that was killed has stored already, a recovery does not write again. Throws
  // Error(DC_E_IO) with nothing counted as stored: the call may be repeated. Returns the number of appends that lie where another one is
  // and were refused: from then on the log never comes to its end.
  std::size_t store(const std::vector<Append>& appends);
  // An append that cannot be stored, for whatever reason.
  void refuse() { lacks_ = true; }
  // Appends were refused.
  bool lacks() const { return lacks_; }
  // What was stored is durable. Throws Error(DC_E_IO), from then on each time: what the disk has is unknown.
  void sync();
  // The same, and if the log is `complete` says so in the index: else a recovery goes on with it, and no later run replaces it unasked. A log
  // that nothing was appended to leaves no file.
  void finish(bool complete = true);

 private:
  void open();
  void take_over();
  bool replaces_predecessor(const Index& found) const;
  void require_same(const Index& found) const;
  void begin();
  void replace();
  int data_file(std::uint32_t file);
  std::vector<const Append*> to_write(const std::vector<Append>& appends, std::size_t& refused) const;
  void write_data(const std::vector<const Append*>& appends);
  void write_entries(std::vector<IndexEntry> entries);
  void sync_files();
  void sync_folder() const;

  const LogSettings settings_;
  const Names names_;
  std::optional<Error> block_reason_;
  Before before_;
  int index_ = -1;
  std::vector<int> data_;          // descriptors, -1: not open yet
  std::vector<Coverage> covered_;  // by file
  std::uint64_t index_bytes_ = 0;  // of its whole entries
  std::uint32_t old_files_ = 0;    // of the log that it replaces
  bool replaces_ = false, begun_ = false, ended_ = false, lacks_ = false;
  bool index_is_torn_ = false;  // a write to it has failed
  bool new_names_ = false;      // files were made since the folder was synced
  std::set<std::uint32_t> unsynced_;
  std::string sync_error_;  // of the first sync that failed: the kernel may have dropped what it had
};

}  // namespace damaris::logs
