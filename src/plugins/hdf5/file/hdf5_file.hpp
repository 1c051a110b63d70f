// An output file as HDF5 sees it: HDF5 writes it through a virtual file driver to a WriteTarget, a descriptor, or memory once a write has
// failed. Computes the checksum of the file, reading back only what was written in small pieces.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: output_file.hpp, which created the file. After it: new_dataset.hpp, dataset_writer.hpp; the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "handle.hpp"

namespace damaris::hdf5 {

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

  struct Run {
    std::uint64_t bytes;
    std::optional<std::uint32_t> checksum;
  };

  // What was written last replaces earlier runs.
  void know(std::uint64_t offset, const Run& run);
  template <class Note>
  void note(Note&& note) noexcept;
  void keep(std::uint64_t offset, const void* data, std::size_t size) noexcept;
  void write(std::uint64_t offset, const void* data, std::size_t size) noexcept;
  void fail_in_forks() noexcept;

  int creator_pid_;  // the process that created the file
  int descriptor_;
  bool early_ = false, reserved_ = false;
  std::size_t behind_ = 0;  // bytes written since write-back was last requested
  int error_ = 0;
  std::map<std::uint64_t, Run> runs_;  // by offset, with a checksum: they do not overlap
  std::vector<Kept> kept_;             // in order of writing: later ones take precedence
};

// The file has the ordinary format: any driver can open it.
class Hdf5File {
 public:
  enum class Mode { create, open };
  // `descriptor`: a file open for reading and writing, empty for Mode::create. `path`: its name for messages.
  Hdf5File(int descriptor, const std::string& path, Mode mode = Mode::create);

  hid_t id() const { return file_.id(); }
  // Property lists shared by all datasets: creating them costs as much as writing some attributes.
  const Properties& links() const { return links_; }
  const Properties& contiguous() const { return contiguous_; }
  // The bytes of the file, for raw data that bypasses HDF5.
  WriteTarget& target() { return target_; }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Throws Failure if a write has failed; HDF5 itself does not notice (WriteTarget).
  void check() const;
  // Writes what HDF5 still caches, and closes the file.
  void close();
  // CRC-32 of the closed file. Throws Failure.
  std::uint32_t checksum();

 private:
  std::string path_;
  WriteTarget target_;
  File file_;
  Properties links_, contiguous_;
};

}  // namespace damaris::hdf5
