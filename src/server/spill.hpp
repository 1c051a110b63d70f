// The spill file: holds blocks that were moved out of a full buffer to a disk of the node, until they are stored.
// Used by: the server's intake thread; recovery, which reads the blocks that a dead server had spilled.
// Before it: back-pressure chooses a block. After it: the storage reads the block through a mapping of the file.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/process.hpp"
#include "core/shm/block.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

// The location of a block in the file, and its mapping.
struct SpilledBlock {
  std::uint64_t offset = 0, bytes = 0;  // of the record: header and data, whole pages
  std::byte* record = nullptr;
  std::uint32_t checksum = 0;  // of the data at the time of spilling
  const std::byte* data() const noexcept { return record + shm::kLongestHeader; }
};

// A record consists of a header written by the server, with room for all lists, and the data, in whole pages. The header's state is
// reserved until the data are complete, so that a server killed in between leaves no partial record. Released records become holes; the
// file stays until the server ends.
class Spill {
 public:
  // Creates no file yet.
  Spill(const shm::Region& region, std::uint64_t most_bytes);
  ~Spill() { end(); }
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // Copies a dataset to the file, some MiB a call so that a large one does not keep the server from its lanes: call again, with the same
  // dataset, while `unfinished`. `no_room`: the file has none, and the reason is logged once.
  enum class Copied { whole, unfinished, no_room };
  Copied copy(const dc_dataset_t& dataset, SpilledBlock& place);
  // Removes an unfinished copy.
  void cancel_copy() noexcept;
  void release(const SpilledBlock& block);

  // Takes over a dead server's file: maps every complete record and passes it to `visit`. A damaged one counts as missing.
  enum class Verdict { kept, obsolete, damaged };
  using Visit = std::function<Verdict(const shm::BlockHeader&, const SpilledBlock&)>;
  void adopt(const Visit& visit);
  void keep() noexcept { keep_file_ = true; }
  bool holds_something() const noexcept { return records_ > 0 || missing_ > 0; }
  // Closes the file, and removes it if it is empty or not kept.
  void end() noexcept;
  // Number of blocks that the dead server had spilled and that cannot be found: the file is gone, truncated or damaged. They count as
  // unreleased until given up.
  std::uint64_t missing() const noexcept { return missing_; }
  void forget_missing();
  // Why an existing file was not opened, although its data may be intact; "" otherwise.
  const std::string& refusal() const noexcept { return refusal_; }
  const std::string& path() const noexcept { return path_; }

  // The path for a region that is about to be created. Throws Error(DC_E_CONFIG) if the folder's name is too long, Error(DC_E_NO_OUTPUT) if
  // the folder cannot be written.
  static std::string path_for(const std::string& folder, const std::string& region);

 private:
  std::uint64_t walk(const Visit& visit, std::vector<SpilledBlock>& obsolete);
  bool open(int flags);
  bool begin_copy(const dc_dataset_t& dataset);
  bool copy_bite(const dc_dataset_t& dataset);
  bool end_copy(const dc_dataset_t& dataset, SpilledBlock& place);
  bool allocate(std::uint64_t begin, std::uint64_t end);
  void forget(const SpilledBlock& block) noexcept;
  bool reset_if_empty();
  bool fail(const std::string& what);
  SpilledBlock map(std::uint64_t offset, std::uint64_t bytes) const;

  CreatorProcess creator_;
  shm::RegionHeader& header_;
  std::string path_;
  std::uint64_t most_bytes_;
  std::uint64_t end_ = 0;      // offset behind the last record
  std::uint64_t bytes_ = 0;    // of the current records
  std::uint64_t missing_ = 0;  // see missing()
  std::uint64_t records_ = 0;  // current records; the count in the region's header is not trusted
  int descriptor_ = -1;
  std::uint64_t copied_ = 0;    // bytes of the record in progress behind end_, its header included; 0: none
  std::uint32_t checksum_ = 0;  // of its data so far
  std::string refusal_;         // see refusal()
  bool failed_ = false;         // the last store failed, which has been logged
  bool keep_file_ = false;
};

}  // namespace damaris::server
