// Reads compressed chunks in the file's type. HDF5's own filters allocate whatever a file demands; here a chunk must decompress to exactly
// the size of the dataset's chunks.
// Used by: `damaris verify`, one thread; restart on the server's work thread.
// Before it: stored_layout.hpp. After it: the checksum of the values, or the block of a client.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "../file/handle.hpp"
#include "../layout/gather.hpp"
#include "stored_layout.hpp"

namespace damaris::hdf5 {

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

}  // namespace damaris::hdf5
