// The spill file: holds blocks that were moved out of a full buffer to a disk of the node, until they are stored.
// Used by: the server's dispatch thread; recovery, which finds in it what a dead server had moved.
// Before it: back-pressure chooses a block. After it: the storage reads the block through a mapping, wherever it lies.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/creator_process.hpp"
#include "core/shm/block.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

// Where a block lies in the file, mapped.
struct SpilledBlock {
  std::uint64_t offset = 0, bytes = 0;  // of the record: header and data, whole pages
  std::byte* record = nullptr;
  std::uint32_t checksum = 0;  // of the data, when they were spilled
  const std::byte* data() const noexcept { return record + shm::kLongestHeader; }
};

// A record is a block's header as the server knows it, with room for all lists, then the data, in whole pages. The header says reserved until
// the data are whole, so that a server that is killed in between leaves no half record. Released records become holes; the file stays until the
// server ends.
class Spill {
 public:
  // Of a new region: makes no file yet. Throws Error(DC_E_NO_OUTPUT) when the folder cannot be written.
  Spill(const shm::Region& region, std::uint64_t most_bytes);
  ~Spill() { end(); }
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // Copies a dataset. Returns false when there is no room there, and logs why, once.
  bool store(const dc_dataset_t& dataset, SpilledBlock& place);
  void release(const SpilledBlock& block);

  // Of a dead server's file: maps every whole record and hands it over. One that makes no sense is damaged, and counts as not there.
  enum class Verdict { kept, obsolete, damaged };
  using Visit = std::function<Verdict(const shm::BlockHeader&, const SpilledBlock&)>;
  void adopt(const Visit& visit);
  void keep() noexcept { keep_file_ = true; }
  // Nothing more is spilled. Removes the file, unless it is to be kept and holds something.
  void end() noexcept;
  // How many blocks the dead server had there that are not: the file is gone, cut or damaged. They count as in the region until given up.
  std::uint64_t missing() const noexcept { return missing_; }
  void give_up_missing();
  // Why a file that is there was not taken, so that its data may be whole; "" otherwise.
  const std::string& refusal() const noexcept { return refusal_; }
  const std::string& path() const noexcept { return path_; }

  // For a region that is about to be made. Throws Error(DC_E_CONFIG) for a folder whose name is too long.
  static std::string path_for(const std::string& folder, const std::string& region);

 private:
  std::uint64_t walk(const Visit& visit, std::vector<SpilledBlock>& obsolete);
  bool open(int flags);
  void forget(const SpilledBlock& block) noexcept;
  bool reset_if_empty();
  bool fail(const std::string& what);
  SpilledBlock map(std::uint64_t offset, std::uint64_t bytes) const;

  CreatorProcess creator_;
  shm::RegionHeader& header_;
  std::string path_;
  std::uint64_t most_bytes_;
  std::uint64_t end_ = 0;      // of the last record
  std::uint64_t bytes_ = 0;    // of the records that are there
  std::uint64_t missing_ = 0;  // see missing()
  std::uint64_t records_ = 0;  // as many; the header's count is for others, and they may write there
  int descriptor_ = -1;
  std::string refusal_;  // see refusal()
  bool failed_ = false;  // and reported
  bool keep_file_ = false;
};

}  // namespace damaris::server
