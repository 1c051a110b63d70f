// The destination of an HDF5 file: a descriptor, or memory once a write has failed. Writes contiguous data in aligned pieces, and computes
// the checksum of the file, reading back only what was written in small pieces.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: HDF5's writes through the file driver, values from dataset_writer.hpp. After it: the temporary file of output_file.hpp, the
// manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace damaris::hdf5 {

class FileChecksum {
 public:
  // `data` was written at `offset`, replacing earlier contents.
  void wrote(std::uint64_t offset, const void* data, std::size_t size_bytes);
  // The same for data with a known checksum.
  void wrote(std::uint64_t offset, std::size_t size_bytes, std::uint32_t checksum);
  // Reads `size_bytes` at `offset` into the buffer; returns false on failure.
  using Read = std::function<bool(std::uint64_t offset, void* data, std::size_t size_bytes)>;
  // CRC-32 of the bytes 0 .. size_bytes-1. Reads ranges whose checksum is unknown; returns false if that fails.
  bool of_file(std::uint64_t size_bytes, const Read& read, std::uint32_t& checksum) const;

 private:
  struct Run {
    std::uint64_t size_bytes;
    std::uint32_t checksum;
  };
  void forget(std::uint64_t offset, std::uint64_t size_bytes);

  std::map<std::uint64_t, Run> runs_;  // by offset; they do not overlap
};

// HDF5 does not survive a failed write: it keeps the file half open and crashes at the end of the process. So failures are hidden from it.
// After the first one, raw data is discarded, and metadata, which HDF5 may read back, is kept in memory until HDF5 has closed the file,
// which is then deleted.
class WriteTarget {
 public:
  enum class Kind { raw, metadata };

  explicit WriteTarget(int descriptor);

  // errno of the first failure; 0 if there was none.
  int error() const noexcept { return error_; }

  void write(Kind kind, std::uint64_t offset, const void* data, std::size_t size) noexcept;
  // Writes raw data with a known checksum.
  void write(std::uint64_t offset, const void* data, std::size_t size, std::uint32_t checksum) noexcept;
  // Preallocates a file of this size: cheaper than growing it, and a full file system is detected before anything is written. Has no effect
  // on file systems that do not support it.
  void reserve(std::uint64_t size) noexcept;
  // Releases preallocated space beyond the end of the file.
  void trim() noexcept;
  // Starts write-back before everything is written: for a file that will be synced.
  void write_back_early() noexcept { early_ = true; }
  // Bytes beyond the end read as zeros. Returns whether the file could be read.
  bool read(std::uint64_t offset, void* data, std::size_t size) noexcept;
  void resize(std::uint64_t size) noexcept;
  // 0 for a file whose size is refused, which counts as a failed write.
  std::uint64_t size() noexcept;
  // CRC-32 of the complete file. Returns whether it could be computed.
  bool checksum(std::uint32_t& checksum) noexcept;

 private:
  struct Kept {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };

  template <class Note>
  void note(Note&& note) noexcept;
  void keep(std::uint64_t offset, const void* data, std::size_t size) noexcept;
  void write(std::uint64_t offset, const void* data, std::size_t size) noexcept;
  void refuse_in_forks() noexcept;

  int creator_pid_;  // the process that created the file
  int descriptor_;
  bool early_ = false, reserved_ = false;
  std::size_t behind_ = 0;  // bytes written since write-back was last requested
  int error_ = 0;
  FileChecksum checksum_;
  std::vector<Kept> kept_;  // in order of writing: later ones take precedence
};

class AlignedWriter {
 public:
  // Starts at `offset` in the file.
  AlignedWriter(WriteTarget& target, std::uint64_t offset) : target_(target), end_(offset) {}

  // Bytes up to the next alignment boundary: data added up to there is written while it is still in the cache. Never 0.
  std::size_t room() const { return kPieceBytes - static_cast<std::size_t>(end_ % kPieceBytes); }
  // Appends `size` bytes with their checksum; `data` must stay valid until flush().
  void add(const std::byte* data, std::size_t size, std::uint32_t checksum);
  // Writes what is left.
  void flush();

 private:
  // Fits the L2 cache, and the kernel can keep a piece in one large folio, which is cheaper than many small ones.
  static constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

  WriteTarget& target_;
  std::uint64_t end_;  // file offset of the end of the added data
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;  // added, not yet written
  std::uint32_t checksum_ = 0;
};

}  // namespace damaris::hdf5
