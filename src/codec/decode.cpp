#include "decode.hpp"

#include <libdeflate.h>
#include <zstd.h>

#include <memory>
#include <new>

namespace damaris::codec {
namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const noexcept { libdeflate_free_decompressor(decompressor); }
};

bool inflate(const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes) {
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();
  // Without a place for how much it was the library wants exactly that much.
  return libdeflate_zlib_decompress(decompressor.get(), stream, stream_bytes, out, size_bytes, nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace

bool decode(Codec codec, const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes) {
  if (codec == Codec::kDeflate) return inflate(stream, stream_bytes, out, size_bytes);
  return ZSTD_decompress(out, size_bytes, stream, stream_bytes) == size_bytes;
}

}  // namespace damaris::codec
