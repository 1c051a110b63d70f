// An array of a fixed size, all zero, of which memory takes only the pages that are used.
// Used by: a client, for what it has of each variable of the model, of which it may write few.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace damaris {

// Zero bytes are a valid T. Neither constructs nor destroys them.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  // Throws std::bad_alloc.
  explicit ZeroedArray(std::size_t size) : bytes_(size * sizeof(T)) {
    if (size == 0) return;
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<T*>(memory);
    end_ = begin_ + size;
    ::madvise(memory, bytes_, MADV_NOHUGEPAGE);  // a huge page would be taken as a whole; an error changes only that
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), end_(std::exchange(other.end_, nullptr)), bytes_(other.bytes_) {}
  ZeroedArray& operator=(ZeroedArray&&) = delete;
  ~ZeroedArray() {
    if (begin_ != nullptr) ::munmap(begin_, bytes_);
  }

  T& operator[](std::size_t index) noexcept { return begin_[index]; }
  const T& operator[](std::size_t index) const noexcept { return begin_[index]; }
  T* begin() noexcept { return begin_; }
  const T* begin() const noexcept { return begin_; }
  const T* end() const noexcept { return end_; }

 private:
  T* begin_ = nullptr;
  T* end_ = nullptr;
  std::size_t bytes_;
};

}  // namespace damaris
