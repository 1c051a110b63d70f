// A stored dataset as it is in the file, which may be damaged: its layout, its chunks, and the checksum of its values, to compare with the
// one that the writers recorded in the manifest.
// Used by: `damaris verify`, one thread; restart on the server's work thread.
// Before it: the name of a file. After it: HDF5; codecs decompress, as HDF5's own filters allocate whatever a file demands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "../file/handle.hpp"
#include "codec/encoder.hpp"
#include "core/base/box.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// Opens for reading, without HDF5's lock, which any user with read access could hold. Throws Failure, also for a named pipe.
File open_stored(const std::string& path);

// Opens a dataset whose values are in the file itself. Throws Failure for one behind an external link, in external storage, or virtual: HDF5
// would open any file of this user, and block on a named pipe. Also throws for one that layout_of rejects, which bounds the cost of
// reading.
Dataset open_dataset(const File& file, const std::string& path);

struct StoredLayout {
  // Then HDF5 must not read it, because the output of its filters is unbounded.
  bool has_filters() const { return is_shuffled || codec; }

  Box whole;                          // of the dataset, starting at zero
  std::size_t element_bytes = 0;      // in the file's type
  std::optional<Extents> chunk;       // none: not chunked
  bool is_shuffled = false;           // the first filter is HDF5's shuffle
  std::optional<codec::Codec> codec;  // of the filter after it, or of the only one
};

// Throws Failure naming `path`, the dataset's, for values in the object header; for other filters, or another order or number of them, than
// Damaris writes; for chunks larger than the dataset in a dimension; for extents that overflow.
StoredLayout layout_of(const Dataset& dataset, const std::string& path);

// Reads compressed chunks in the file's type. A chunk must decompress to exactly the size of the dataset's chunks.
class CompressedChunks {
 public:
  // `dataset` must outlive this object. Requires layout.has_filters(), and plain elements (no references or variable lengths).
  CompressedChunks(const Dataset& dataset, const StoredLayout& layout, std::string path);

  // Calls `each` for the intersection of `box`, which must be within the dataset, with each chunk.
  void for_each_part(const Box& box, const std::function<void(const Box& part)>& each) const;

  // The values of `box` in C order, valid until the next call. Allocates memory for two chunks, and for the box unless it is a whole chunk.
  // Throws Failure for a missing chunk, or one that does not decompress to the size of a chunk.
  const std::byte* read(const Box& box);

 private:
  // Uninitialized memory: untouched pages cost nothing.
  class Buffer {
   public:
    std::byte* at_least(std::size_t bytes);
    std::byte* get() const { return memory_.get(); }

   private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
  };

  Box frame_of(const Box& part) const;
  void decompress(const Box& frame);
  const std::byte* decoded(std::size_t stored_bytes, std::uint32_t skipped, std::size_t bytes);
  [[noreturn]] void refuse(const std::string& why) const;

  const Dataset& dataset_;
  StoredLayout layout_;
  std::string path_;
  Buffer stored_, decoded_, unshuffled_, gathered_;
  Box frame_;                          // of the chunk decompressed last
  const std::byte* values_ = nullptr;  // its values; nullptr: none yet
};

// CRC-32 of the values in the file's type: chunk by chunk, with chunks and the values of each in C order, without those beyond the dataset;
// if not chunked, of all values in C order. Throws Failure if they cannot be read.
std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path);

// CRC-32 of the elements `part` in C order, in the coordinates of dataset.box. Throws Failure.
std::uint32_t checksum_of_part(const File& file, const manifest::DatasetEntry& dataset, const Box& part);

// The current value of the checksum that dataset.checksum recorded. Throws Failure.
std::uint32_t checksum_of(const File& file, const manifest::DatasetEntry& dataset);

}  // namespace damaris::hdf5
