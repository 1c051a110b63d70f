#include "encoder.hpp"

#include <libdeflate.h>
#include <zstd.h>
#include <damaris/error.hpp>

#include <memory>
#include <new>
#include <string>

#include "chunk.hpp"
#include "plane_deflate.hpp"
#include "shuffle.hpp"

namespace damaris::codec {
namespace {

// Shuffle and libdeflate, level 1 to 12: smaller output, but slower than the byte planes.
class ShuffledDeflate : public Encoder {
 public:
  ShuffledDeflate(int level, Simd simd)
      : compressor_(libdeflate_alloc_compressor(level), &libdeflate_free_compressor), simd_(at_most(simd)) {
    if (!compressor_) throw std::bad_alloc();
  }
  Encoded encode(const Chunk& chunk) override {
    const std::size_t bytes = chunk.bytes();
    unsigned char* shuffled = shuffled_.at_least(bytes + 1);
    const std::size_t bound = libdeflate_zlib_compress_bound(compressor_.get(), bytes);
    unsigned char* stream = stream_.at_least(bound);
    shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled), simd_);
    const std::size_t size = libdeflate_zlib_compress(compressor_.get(), shuffled, bytes, stream, bound);
    return {stream, size, size != 0 && size < bytes};
  }

 private:
  std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor_;
  Simd simd_;
  ScratchMemory shuffled_, stream_;
};

// Level 1 to 19. Each stream is one frame that states its content size, which the filter needs.
class Zstd : public Encoder {
 public:
  Zstd(int level, Simd simd) : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx), level_(level), simd_(at_most(simd)) {
    if (!context_) throw std::bad_alloc();
  }
  Encoded encode(const Chunk& chunk) override {
    const std::size_t bytes = chunk.bytes();
    unsigned char* shuffled = shuffled_.at_least(bytes + 1);
    const std::size_t bound = ZSTD_compressBound(bytes);
    unsigned char* stream = stream_.at_least(bound);
    shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled), simd_);
    const std::size_t size = ZSTD_compressCCtx(context_.get(), stream, bound, shuffled, bytes, level_);
    if (ZSTD_isError(size)) throw std::bad_alloc();  // the output fits its bound, so zstd is out of memory
    return {stream, size, size < bytes};
  }

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  int level_;
  Simd simd_;
  ScratchMemory shuffled_, stream_;
};

void check_level(const char* codec, int level, int most) {
  if (level < 1 || level > most)
    throw Error(DC_E_CONFIG, std::string(codec) + " has no level " + std::to_string(level) + "; take one from 1 (fast) to " +
                                 std::to_string(most) + " (small)");
}

bool inflate(const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!decompressor) throw std::bad_alloc();
  // Without a pointer for the actual size, the library accepts only exactly this size.
  return libdeflate_zlib_decompress(decompressor.get(), stream, stream_bytes, out, size_bytes, nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace

std::unique_ptr<Encoder> Encoder::make(const Setting& setting) {
  if (setting.codec == Codec::kZstd) {
    check_level("zstd", setting.level, 19);
    return std::make_unique<Zstd>(setting.level, setting.simd);
  }
  check_level("deflate", setting.level, 12);
  if (setting.level == 1) return std::make_unique<PlaneDeflate>(setting.simd);
  return std::make_unique<ShuffledDeflate>(setting.level, setting.simd);
}

bool decode(Codec codec, const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes) {
  if (codec == Codec::kDeflate) return inflate(stream, stream_bytes, out, size_bytes);
  return ZSTD_decompress(out, size_bytes, stream, stream_bytes) == size_bytes;
}

}  // namespace damaris::codec
