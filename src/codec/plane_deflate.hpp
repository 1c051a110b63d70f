// The byte-plane deflate: encodes a chunk as an ordinary zlib stream of its shuffled bytes, plane by plane.
// Used by: worker threads of the server, one encoder each.
// Before it: a chunk of a dataset. After it: H5Dwrite_chunk on a dataset with the filters shuffle and deflate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "block.hpp"
#include "chunk.hpp"
#include "simd.hpp"
#include "survey.hpp"

namespace damaris::codec {

// Level 1: incompressible planes are stored; the others are encoded with matches at row distances and a Huffman code.
class PlaneDeflate {
 public:
  explicit PlaneDeflate(Simd simd = best_simd()) : simd_(at_most(simd)) {}

  // The stream of the chunk. Owns: the encoder owns the bytes, which are valid until its next call.
  // Threads: one at a time per encoder. Throws std::bad_alloc; allocates only for a chunk larger than all previous ones.
  Encoded encode(const Chunk& chunk);

 private:
  void encode_plane(std::size_t begin, std::size_t end, BitWriter& out);
  void encode_piece(const SurveySpan& piece, BitWriter& out);
  void store(std::size_t begin, std::size_t end, BitWriter& out) const;

  Simd simd_;
  Distances distances_;
  ScratchMemory shuffled_, stream_, symbols_;
  std::array<std::uint64_t, start_words(Survey::kMaxEncoded)> starts_;
  Block block_;
};

}  // namespace damaris::codec
