// Where the bytes of an HDF5 file go: a descriptor, and memory once the storage has failed.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: file_driver.hpp hands over what HDF5 writes. After it: the temporary file of output_file.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "file_checksum.hpp"

namespace damaris::hdf5 {

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
  std::size_t behind_ = 0;  // bytes since the storage was last told to begin
  int error_ = 0;
  FileChecksum checksum_;
  std::vector<Kept> kept_;  // in the order of writing: the last one counts
};

}  // namespace damaris::hdf5
