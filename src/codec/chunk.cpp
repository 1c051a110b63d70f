#include "chunk.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace damaris::codec {

constexpr std::align_val_t kAlignment{64};

void ScratchMemory::FreeAligned::operator()(unsigned char* memory) const noexcept { ::operator delete(memory, kAlignment); }

// Touches the memory once, so that later uses cause no page faults.
unsigned char* ScratchMemory::at_least(std::size_t bytes) {
  if (bytes <= bytes_) return memory_.get();
  memory_.reset();
  bytes_ = 0;
  memory_.reset(static_cast<unsigned char*>(::operator new(bytes, kAlignment)));
  std::memset(memory_.get(), 0, bytes);
  bytes_ = bytes;
  return memory_.get();
}

}  // namespace damaris::codec
