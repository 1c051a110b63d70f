// Bytes that follow each other in a file, written in pieces that end at round places of it.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: dataset_writer.hpp has looked at the bytes. After it: write_target.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "write_target.hpp"

namespace damaris::hdf5 {

class AlignedWriter {
 public:
  // The first byte goes to `offset`.
  AlignedWriter(WriteTarget& target, std::uint64_t offset) : target_(target), end_(offset) {}

  // Bytes up to the next round place: what is added up to there is written while it is still in the cache. More than 0.
  std::size_t room() const { return kPieceBytes - static_cast<std::size_t>(end_ % kPieceBytes); }
  // Goes on with `size` bytes that are known by their checksum, and stay where they are until flush().
  void add(const std::byte* data, std::size_t size, std::uint32_t checksum);
  // Writes what is left.
  void flush();

 private:
  // Fits the second cache; and the kernel keeps a piece in one folio, which costs it less than many.
  static constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

  WriteTarget& target_;
  std::uint64_t end_;  // in the file, of what was added
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;  // added and not written
  std::uint32_t checksum_ = 0;
};

}  // namespace damaris::hdf5
