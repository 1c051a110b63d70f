// Copies an array into the region; a large one with the method that proved fastest in the first writes of similar size.
// Used by: client threads, in every write that copies.
// Before it: room in an arena. After it: publishing; the values are visible to a process that sees the block published.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace damaris::shm {

// Methods of copying a large array: memcpy, or streaming stores, which bypass the caches as the copying process never reads the copy.
// Streaming goes page by page or over four pages abreast. Which is fastest depends on the processor and its memory: abreast took 0.6 of
// the time of a memcpy on a Xeon, but 1.2 of it on an EPYC, where page by page took 0.8.
enum class CopyMethod : std::uint8_t { plain, streamed, streamed_abreast };
inline constexpr std::array kCopyMethods = {CopyMethod::plain, CopyMethod::streamed, CopyMethod::streamed_abreast};

// `to`: aligned to 32 bytes, as the data of every block is. On a processor without streaming stores, each method is a memcpy.
void copy_by(CopyMethod method, void* to, const void* from, std::uint64_t bytes) noexcept;

// The smallest size for which the other methods are tried. The target of a smaller array is often still cached from the last step.
inline constexpr std::uint64_t kLargeCopyBytes = 256 * 1024;

// Tries each method a few times in turn, separately for each power of two of the size, and keeps the one with the best time per byte.
// Threads: any; threads that measure concurrently may try a method once more or less.
class CopyChoice {
 public:
  static constexpr unsigned kTries = 4;  // per method

  // The chosen method; plain until the choice is made.
  CopyMethod kept(std::uint64_t bytes) const noexcept { return at(bytes).kept.load(std::memory_order_relaxed); }
  bool is_decided(std::uint64_t bytes) const noexcept {
    return at(bytes).measured.load(std::memory_order_relaxed) >= kMeasurements;
  }
  // Returns the method to try next; record() takes the time it took. Each round begins with a different method: otherwise a program that
  // writes u, v, w in turn would always try the same method on the same variable.
  CopyMethod next(std::uint64_t bytes) noexcept;
  void record(CopyMethod method, std::uint64_t bytes, double seconds) noexcept;

 private:
  static constexpr unsigned kMeasurements = kTries * kCopyMethods.size();
  static constexpr std::size_t kClasses = 12;  // from kLargeCopyBytes up; the last one holds all larger sizes
  struct Class {
    std::atomic<unsigned> started{0}, measured{0};
    std::array<std::atomic<double>, kCopyMethods.size()> best_s_per_byte{};  // 0: not tried
    std::atomic<CopyMethod> kept{CopyMethod::plain};
  };

  static std::size_t class_of(std::uint64_t bytes) noexcept;
  const Class& at(std::uint64_t bytes) const noexcept { return classes_[class_of(bytes)]; }
  Class& at(std::uint64_t bytes) noexcept { return classes_[class_of(bytes)]; }

  std::array<Class, kClasses> classes_;
};

// Uses the process-wide choice. `to`: as for copy_by.
void copy_large(void* to, const void* from, std::uint64_t bytes) noexcept;

inline void copy_in(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes >= kLargeCopyBytes) return copy_large(to, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace damaris::shm
