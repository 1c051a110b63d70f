// The checksum of a file that is written in pieces and in any order, of which only what was written small is read again.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: write_target.hpp tells of each write. After it: the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

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

}  // namespace damaris::hdf5
