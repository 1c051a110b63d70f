// The lossless codecs: an encoder compresses chunks with a codec and a level, and decode() is the way back, into as much memory as the values
// have and not a byte more, whatever a stream asks for.
// Used by: worker threads of the server, each with an encoder of its own; readers of a run: `damaris verify`, restart on the dispatch thread.
// Before it: a chunk, perhaps rounded or quantized; H5Dread_chunk. After it: H5Dwrite_chunk; unshuffle() of shuffle.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "chunk.hpp"
#include "simd.hpp"

namespace damaris::codec {

enum class Codec { kDeflate, kZstd };

// How chunks are encoded. `level`: deflate 1 (fast: byte planes) to 12 (small); zstd 1 to 19.
struct Setting {
  Codec codec = Codec::kDeflate;
  int level = 1;
  Simd simd = Simd::kAvx512;  // at most; a benchmark takes less
};

// The HDF5 filters a dataset needs, so that any reader undoes the encoding: shuffle first, then the codec.
constexpr unsigned kZstdFilter = 32015;  // the number registered for zstd; deflate is HDF5's own
// All filters skipped for a chunk written as it is: one bit for each of the two.
constexpr unsigned kSkipFilters = 3;

class Encoder {
 public:
  // Throws Error(DC_E_CONFIG) for a level that does not exist, Error(DC_E_MEMORY).
  static std::unique_ptr<Encoder> make(const Setting& setting);
  virtual ~Encoder() = default;

  // Encodes one chunk. Owns: the result is the encoder's, valid until its next call. Threads: one at a time for each encoder.
  // Allocates only for a chunk larger than all before. Throws Error(DC_E_MEMORY); the encoder can be used again.
  virtual Encoded encode(const Chunk& chunk) = 0;

 protected:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
};

// Fills the `size_bytes` bytes of `out`. Returns whether the stream is one of `codec` that makes exactly these; else `out` holds anything.
// Threads: any. Throws std::bad_alloc.
bool decode(Codec codec, const void* stream, std::size_t stream_bytes, void* out, std::size_t size_bytes);

}  // namespace damaris::codec
