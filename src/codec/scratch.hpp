// Memory that grows to the largest use and is kept.
// Used by: the codecs, each encoder its own.
#pragma once

#include <cstddef>
#include <memory>

namespace damaris::codec {

class ScratchMemory {
 public:
  // At least `bytes`, 64-byte aligned; what was in it is lost. Throws std::bad_alloc, the old memory gone.
  unsigned char* at_least(std::size_t bytes);
  // What at_least() gave last.
  unsigned char* get() const noexcept { return memory_.get(); }

 private:
  struct FreeAligned {
    void operator()(unsigned char* memory) const noexcept;
  };
  std::unique_ptr<unsigned char, FreeAligned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace damaris::codec
