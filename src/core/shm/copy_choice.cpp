#include "core/shm/copy_choice.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/base/clock.hpp"
#include "core/base/process_guard.hpp"
#include "core/shm/layout.hpp"

namespace damaris::shm {

#if defined(__SSE2__)
namespace {

constexpr std::uint64_t kAbreast = 4;  // pages: the number of streams that the hardware prefetches concurrently
constexpr std::uint64_t kAhead = 4 * kLine;

inline void stream_line(char* to, const char* from) noexcept {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

[[gnu::target("avx2")]] void stream_lines_avx2(char* to, const char* from, std::uint64_t lines) noexcept {
  const auto* source = reinterpret_cast<const __m256i*>(from);
  auto* target = reinterpret_cast<__m256i*>(to);
  for (std::uint64_t half = 0; half < 2 * lines; half += 2) {
    const __m256i a = _mm256_loadu_si256(source + half), b = _mm256_loadu_si256(source + half + 1);
    _mm256_stream_si256(target + half, a);
    _mm256_stream_si256(target + half + 1, b);
  }
}

std::uint64_t stream(char* to, const char* from, std::uint64_t bytes) noexcept {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  if (!avx2) return 0;
  stream_lines_avx2(to, from, bytes / kLine);
  return bytes / kLine * kLine;
}

inline void prefetch_and_stream_line(char* to, const char* from) noexcept {
  _mm_prefetch(from + kAhead, _MM_HINT_T0);
  stream_line(to, from);
}

// Two lines of each page in turn.
inline void stream_pages(char* to, const char* from) noexcept {
  for (std::uint64_t line = 0; line < kPage; line += 2 * kLine)
    for (std::uint64_t page = 0; page < kAbreast * kPage; page += kPage) {
      prefetch_and_stream_line(to + page + line, from + page + line);
      prefetch_and_stream_line(to + page + line + kLine, from + page + line + kLine);
    }
}

std::uint64_t stream_abreast(char* to, const char* from, std::uint64_t bytes) noexcept {
  std::uint64_t done = 0;
  for (; bytes - done >= kAbreast * kPage; done += kAbreast * kPage) stream_pages(to + done, from + done);
  return done;
}

}  // namespace

// The fence orders the streaming stores before later stores, such as the one that publishes the block.
void copy_by(CopyMethod method, void* to, const void* from, std::uint64_t bytes) noexcept {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  std::uint64_t done = 0;
  if (method != CopyMethod::plain) {
    done = (method == CopyMethod::streamed ? stream : stream_abreast)(target, source, bytes);
    _mm_sfence();
  }
  if (bytes > done) std::memcpy(target + done, source + done, bytes - done);
}
#else
void copy_by(CopyMethod, void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
#endif

std::size_t CopyChoice::class_of(std::uint64_t bytes) noexcept {
  std::size_t result = 0;
  for (std::uint64_t times = bytes / kLargeCopyBytes; times > 1 && result + 1 < kClasses; times /= 2) ++result;
  return result;
}

CopyMethod CopyChoice::next(std::uint64_t bytes) noexcept {
  const unsigned number = at(bytes).started.fetch_add(1, std::memory_order_relaxed);
  return kCopyMethods[(number + number / kCopyMethods.size()) % kCopyMethods.size()];
}

void CopyChoice::record(CopyMethod method, std::uint64_t bytes, double seconds) noexcept {
  Class& here = at(bytes);
  const double took = seconds / static_cast<double>(bytes);
  std::atomic<double>& best = here.best_s_per_byte[static_cast<std::size_t>(method)];
  double known = best.load(std::memory_order_relaxed);
  while ((known == 0 || took < known) && !best.compare_exchange_weak(known, took, std::memory_order_relaxed)) {
  }
  if (here.measured.fetch_add(1, std::memory_order_relaxed) + 1 != kMeasurements) return;
  CopyMethod fastest = CopyMethod::plain;
  double least = 0;
  for (const CopyMethod one : kCopyMethods) {
    const double its = here.best_s_per_byte[static_cast<std::size_t>(one)].load(std::memory_order_relaxed);
    if (its > 0 && (least == 0 || its < least)) fastest = one, least = its;
  }
  here.kept.store(fastest, std::memory_order_relaxed);
}

void copy_large(void* to, const void* from, std::uint64_t bytes) noexcept {
  static CopyChoice choice;
  if (choice.is_decided(bytes)) return copy_by(choice.kept(bytes), to, from, bytes);
  const ThreadStateGuard thread_state;
  const CopyMethod method = choice.next(bytes);
  const Clock::time_point start = Clock::now();
  copy_by(method, to, from, bytes);
  choice.record(method, bytes, seconds_since(start));
}

}  // namespace damaris::shm
