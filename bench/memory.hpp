// Memory that is in no cache: large pieces that are gone through in a circle, touched once before anything is measured.
// Used by: the write benchmark, as source of every copy and as target of the plain memcpy it is compared with.
// Before it: nothing. After it: the address for the next copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/shm/shared_memory.hpp"

namespace damaris::bench {

class Circle {
 public:
  // Private memory of this process, filled with bytes that are not all the same.
  static Circle private_memory(std::uint64_t bytes);
  // Shared memory under a name, made, allocated and touched as the region is.
  static Circle shared_memory(std::uint64_t bytes);

  // The next `bytes` bytes, 64-byte aligned; starts again from the front when they would pass the end.
  std::byte* next(std::uint64_t bytes) noexcept;

 private:
  explicit Circle(shm::SharedMemory memory) : memory_(std::move(memory)) {}
  shm::SharedMemory memory_;
  std::uint64_t place_ = 0;
};

}  // namespace damaris::bench
