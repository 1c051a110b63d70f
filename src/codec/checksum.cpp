#include "checksum.hpp"

#include <libdeflate.h>

#include "checksum_streams.hpp"

namespace damaris::codec {
namespace {

#ifdef DAMARIS_CODEC_X86
struct NoTaker {
  void take(int, const __m512i&) noexcept {}
};

DAMARIS_TARGET_AVX512 std::uint32_t crc32_avx512(const void* data, std::size_t size_bytes, std::uint32_t before) noexcept {
  const auto* const bytes = static_cast<const std::byte*>(data);
  const std::size_t stream_bytes = bytes_of_stream(size_bytes), done = kStreams * stream_bytes;
  NoTaker nobody;
  const std::uint32_t checksum = crc32_of_streams(bytes, stream_bytes, before, nobody);
  return libdeflate_crc32(checksum, bytes + done, size_bytes - done);
}
#endif

}  // namespace

std::uint32_t crc32(const void* data, std::size_t size_bytes, std::uint32_t before, [[maybe_unused]] Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (size_bytes >= kWorthStreams && at_most(simd) == Simd::kAvx512) return crc32_avx512(data, size_bytes, before);
#endif
  return size_bytes == 0 ? before : libdeflate_crc32(before, data, size_bytes);
}

}  // namespace damaris::codec
