// Reads chunks that filters have compressed, in the file's type. HDF5's own filters take as much memory as a file asks for: here a chunk
// decompresses to the size that the dataset gives it, or not at all.
// Used by: `damaris verify`, one thread; restart on the server's dispatch thread.
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
  // `dataset` lives longer; layout.has_filters(), and its elements are plain bytes (no references or variable lengths).
  CompressedChunks(const Dataset& dataset, const StoredLayout& layout, std::string path);

  // Calls for what each chunk holds of `box`, which lies in the dataset.
  void for_each_part(const Box& box, const std::function<void(const Box& part)>& each) const;

  // The values of `box` in C order, until the next call. Takes memory for it, unless it is all of a chunk, and for two chunks. Throws Failure
  // for a chunk that is not there, or that decompresses to anything else than the values of a chunk.
  const std::byte* read(const Box& box);

 private:
  // Not cleared: memory that nobody writes to costs nothing.
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
  Box frame_;                          // of the chunk that was decompressed last
  const std::byte* values_ = nullptr;  // its values; nullptr: none was
};

}  // namespace damaris::hdf5
