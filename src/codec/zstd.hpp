// Shuffle and zstd, as the HDF5 filter registered with number 32015 reads them. Readers need that filter installed.
// Used by: worker threads of the server, through Encoder.
// Before it: a chunk. After it: H5Dwrite_chunk on a dataset with the filters shuffle and 32015.
#pragma once

#include <cstddef>
#include <memory>

#include "chunk.hpp"
#include "scratch.hpp"
#include "simd.hpp"

struct ZSTD_CCtx_s;

namespace damaris::codec {

class Zstd {
 public:
  // `level` 1 to 19. Throws std::bad_alloc.
  Zstd(int level, Simd simd);
  // As Encoder::encode; throws std::bad_alloc. One frame that tells its contents' size, which the filter asks for.
  Encoded encode(const Chunk& chunk);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
  int level_;
  Simd simd_;
  ScratchMemory shuffled_, stream_;
};

}  // namespace damaris::codec
