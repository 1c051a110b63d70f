// Shuffle and deflate of the whole chunk by libdeflate: smaller and slower than the byte-plane deflate.
// Used by: worker threads of the server, through Encoder.
// Before it: a chunk. After it: H5Dwrite_chunk on a dataset with the filters shuffle and deflate.
#pragma once

#include <memory>

#include "chunk.hpp"
#include "scratch.hpp"
#include "simd.hpp"

struct libdeflate_compressor;

namespace damaris::codec {

class SmallDeflate {
 public:
  // `level` 1 to 12. Throws std::bad_alloc.
  SmallDeflate(int level, Simd simd);
  // As Encoder::encode; throws std::bad_alloc.
  Encoded encode(const Chunk& chunk);

 private:
  struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const noexcept;
  };
  std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor_;
  Simd simd_;
  ScratchMemory shuffled_, stream_;
};

}  // namespace damaris::codec
