#include "memory.hpp"

#include <unistd.h>

#include "core/base/format.hpp"
#include "core/shm/layout.hpp"

namespace damaris::bench {

Circle Circle::private_memory(std::uint64_t bytes) {
  Circle circle(shm::SharedMemory::make_private(bytes));
  std::byte* data = circle.memory_.data();
  for (std::uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return circle;
}

Circle Circle::shared_memory(std::uint64_t bytes) {
  shm::SharedMemory memory = shm::SharedMemory::create(format("/damaris.bench.{}.{}", ::geteuid(), ::getpid()), bytes, bytes);
  memory.unlink_name();  // no other process maps it: it must not outlive this one
  return Circle(std::move(memory));
}

std::byte* Circle::next(std::uint64_t bytes) noexcept {
  if (place_ + bytes > memory_.size_bytes()) place_ = 0;
  std::byte* at = memory_.data() + place_;
  place_ += shm::round_up(bytes, shm::kLine);
  return at;
}

}  // namespace damaris::bench
