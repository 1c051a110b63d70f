// The lossless codecs: an encoder shuffles and compresses chunks with a codec and a level; decode() only decompresses, and never writes
// beyond the expected size, whatever the stream claims.
// Used by: worker threads of the server, one encoder for each codec and level; readers of a run: `damaris verify`, restart on the work
// thread.
// Before it: a chunk, perhaps rounded or quantized; H5Dread_chunk. After it: H5Dwrite_chunk; unshuffle() of shuffle.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "chunk.hpp"
#include "simd.hpp"

namespace damaris::codec {

enum class Codec { kDeflate, kZstd };

// `level`: deflate 1 (fast: byte planes) to 12 (small); zstd 1 to 19.
struct Setting {
  Codec codec = Codec::kDeflate;
  int level = 1;
  Simd simd = Simd::kAvx512;  // upper limit; benchmarks set a lower one
};

// A dataset declares two HDF5 filters, by which readers decode it: shuffle, then that of the codec.
constexpr unsigned kZstdFilter = 32015;  // registered for zstd; deflate is built into HDF5
// Filter mask of a chunk written unencoded: one bit for each of the two filters.
constexpr unsigned kSkipFilters = 3;

class Encoder {
 public:
  // Throws Error(DC_E_CONFIG) for an invalid level, std::bad_alloc.
  static std::unique_ptr<Encoder> make(const Setting& setting);
  virtual ~Encoder() = default;

  // Shuffles and compresses one chunk. Owns: the encoder owns the result, which is valid until its next call.
  // Threads: one at a time per encoder. Allocates only for a chunk larger than all previous ones. Throws std::bad_alloc.
  virtual Encoded encode(const Chunk& chunk) = 0;

 protected:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
};

// Decompresses into the `size_bytes` bytes of `out`, still shuffled. Returns whether the stream is a valid one of `codec` of exactly
// this size; otherwise the contents of `out` are unspecified.
// Threads: any. Throws std::bad_alloc.
bool decode(Codec codec, const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes);

}  // namespace damaris::codec
