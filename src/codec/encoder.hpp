// The one door to the lossless codecs: an encoder that is made from a codec's name and level and turns chunks into bytes.
// Used by: worker threads of the server, each with an encoder of its own.
// Before it: a chunk, perhaps rounded. After it: H5Dwrite_chunk on a dataset with the filters that filters_of() names.
#pragma once

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

}  // namespace damaris::codec
