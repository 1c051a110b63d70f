#include "zstd.hpp"

#include <zstd.h>

#include <new>

#include "shuffle.hpp"

namespace damaris::codec {

void Zstd::FreeContext::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

Zstd::Zstd(int level, Simd simd) : context_(ZSTD_createCCtx()), level_(level), simd_(at_most(simd)) {
  if (!context_) throw std::bad_alloc();
}

Encoded Zstd::encode(const Chunk& chunk) {
  const std::size_t bytes = chunk.bytes();
  unsigned char* shuffled = shuffled_.at_least(bytes + 1);
  const std::size_t bound = ZSTD_compressBound(bytes);
  unsigned char* stream = stream_.at_least(bound);
  shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled), simd_);
  const std::size_t size = ZSTD_compressCCtx(context_.get(), stream, bound, shuffled, bytes, level_);
  if (ZSTD_isError(size)) throw std::bad_alloc();  // the bound is kept, so only its own memory can be missing
  return {stream, size, size < bytes};
}

}  // namespace damaris::codec
