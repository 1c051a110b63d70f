// Where the bytes of an HDF5 file go: a descriptor, and memory once the storage has failed; what follows each other in pieces that end at
// round places; and the checksum of it all, of which only what was written small is read again.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the file driver hands over what HDF5 writes, dataset_writer.hpp the values. After it: the temporary file of output_file.hpp, the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace damaris::hdf5 {

class FileChecksum {
 public:
  // `data` was written at `offset`, over whatever was there before.
  void wrote(std::uint64_t offset, const void* data, std::size_t size_bytes);
  // The same of data whose checksum is known.
  void wrote(std::uint64_t offset, std::size_t size_bytes, std::uint32_t checksum);
  // Reads `size_bytes` at `offset` into the buffer; false: it cannot.
  using Read = std::function<bool(std::uint64_t offset, void* data, std::size_t size_bytes)>;
  // CRC-32 of the bytes 0 .. size_bytes-1. What is not known is read. Returns whether it could be.
  bool of_file(std::uint64_t size_bytes, const Read& read, std::uint32_t& checksum) const;

 private:
  struct Run {
    std::uint64_t size_bytes;
    std::uint32_t checksum;
  };
  void forget(std::uint64_t offset, std::uint64_t size_bytes);

  std::map<std::uint64_t, Run> runs_;  // by offset; they do not overlap
};

// HDF5 does not survive a failed write: it keeps the file half open for ever and dies of it at the end of the process. So it never
// sees one. The first failure is remembered; from then on raw data is dropped, and metadata, which HDF5 may read back, is kept in
// memory, until HDF5 has closed the file that nobody wants any more.
class WriteTarget {
 public:
  enum class Kind { raw, metadata };

  explicit WriteTarget(int descriptor);

  // errno of the first failure, 0 while all is well.
  int error() const noexcept { return error_; }

  void write(Kind kind, std::uint64_t offset, const void* data, std::size_t size) noexcept;
  // Raw data whose checksum is known.
  void write(std::uint64_t offset, const void* data, std::size_t size, std::uint32_t checksum) noexcept;
  // Asks for room for a file of this size: given at once it is cheaper than bit by bit, and a full file system is found before
  // anything is written. File systems that cannot do this give it bit by bit.
  void reserve(std::uint64_t size) noexcept;
  // Gives back the room behind the end of the file.
  void trim() noexcept;
  // The storage is to begin with what is written before all of it is: for a file that will be synced.
  void write_back_early() noexcept { early_ = true; }
  // What is not in the file reads as zeros. Returns whether the file could be read.
  bool read(std::uint64_t offset, void* data, std::size_t size) noexcept;
  void resize(std::uint64_t size) noexcept;
  std::uint64_t size() const noexcept;
  // CRC-32 of the whole file, once all is written. Returns whether it could be taken.
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

  int maker_;  // the process that has made the file
  int descriptor_;
  bool early_ = false, reserved_ = false;
  std::size_t behind_ = 0;  // bytes written since the last request to write back
  int error_ = 0;
  FileChecksum checksum_;
  std::vector<Kept> kept_;  // in the order of writing: the last one counts
};

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
