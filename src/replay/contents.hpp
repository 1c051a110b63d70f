// What a replay writes, and where it reads to: memory without meaning, which no file system can store as zeros or compress.
// Used by: each thread of the player, with its own place in the memory that all share; the folder.
// Before it: an operation of the plan. After it: the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace damaris::replay {

class Contents {
 public:
  // Memory of 1 MiB to 64 MiB, as the largest operation of `most` bytes needs. Of threads with other numbers it begins elsewhere.
  Contents(std::uint64_t most, std::uint32_t number);
  // The same memory for another thread.
  Contents(const Contents& other, std::uint32_t number);

  // All `bytes` at `offset`, in one call if the system takes them. Returns 0, or an errno.
  int write(int descriptor, std::uint64_t offset, std::uint64_t bytes);
  // The same; `got` is less than `bytes` at the end of the file.
  int read(int descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t& got);

  // `bytes` to write from, at most kMostBlock.
  static constexpr std::uint64_t kMostBlock = 32 << 20;
  const char* block(std::uint64_t bytes);

 private:
  struct Memory;
  std::size_t start_of(std::uint64_t bytes);
  template <class Call>
  int transfer(Call call, char* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t& done);

  std::shared_ptr<Memory> memory_;
  std::size_t at_;
};

}  // namespace damaris::replay
