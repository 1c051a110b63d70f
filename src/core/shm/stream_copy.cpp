#include "core/shm/stream_copy.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>

#include "core/shm/layout.hpp"
#endif

namespace damaris::shm {

#if defined(__SSE2__)
namespace {

constexpr std::uint64_t kAbreast = 4;  // pages: so many streams the hardware prefetches at once
constexpr std::uint64_t kAhead = 4 * kLine;

inline void stream_line(char* to, const char* from) noexcept {
  _mm_prefetch(from + kAhead, _MM_HINT_T0);
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

// Two lines of each page in turn: one page after the other waits for memory half of the time.
inline void stream_pages(char* to, const char* from) noexcept {
  for (std::uint64_t line = 0; line < kPage; line += 2 * kLine)
    for (std::uint64_t page = 0; page < kAbreast * kPage; page += kPage) {
      stream_line(to + page + line, from + page + line);
      stream_line(to + page + line + kLine, from + page + line + kLine);
    }
}

}  // namespace

// The fence: streaming stores may be seen after later ones, such as the one that publishes the block.
void stream_copy(void* to, const void* from, std::uint64_t bytes) noexcept {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  std::uint64_t done = 0;
  for (; bytes - done >= kAbreast * kPage; done += kAbreast * kPage) stream_pages(target + done, source + done);
  _mm_sfence();
  std::memcpy(target + done, source + done, bytes - done);
}
#else
void stream_copy(void* to, const void* from, std::uint64_t bytes) noexcept { std::memcpy(to, from, bytes); }
#endif

}  // namespace damaris::shm
