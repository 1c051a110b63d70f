// The byte-plane deflate: a chunk as an ordinary zlib stream of its shuffled bytes, made plane by plane.
// Used by: worker threads of the server, each with an encoder of its own.
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

// Level 1: planes that do not compress are stored, the others get matches at the distances of a row and a Huffman code.
class PlaneDeflate {
 public:
  explicit PlaneDeflate(Simd simd = best_simd()) : simd_(at_most(simd)) {}

  // The stream of the chunk. Owns: the bytes stay the encoder's, valid until its next call.
  // Threads: one at a time for each encoder. Throws std::bad_alloc; allocates only for a larger chunk than all before.
  Encoded encode(const Chunk& chunk);

 private:
  void encode_plane(std::size_t begin, std::size_t end, BitWriter& out);
  void encode_piece(const SurveySpan& piece, BitWriter& out);
  void store(std::size_t begin, std::size_t end, BitWriter& out) const;

  Simd simd_;
  Distances distances_;
  ScratchMemory shuffled_, stream_, symbols_;
  std::array<std::uint64_t, start_words(Survey::kLongestEncoded)> starts_;
  Block block_;
};

}  // namespace damaris::codec
