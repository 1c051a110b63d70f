// Makes the bytes of chunks from the values of a piece: gathers, rounds or quantizes, and compresses them; knows nothing of files.
// Used by: the hdf5 plugin, on the server's work thread, with worker threads that compress.
// Before it: pieces.hpp, precision.hpp. After it: chunk_writer.hpp, for a file of this server; shared/chunk_exchange.hpp, for a shared one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "brick_index.hpp"
#include "chunk_codec.hpp"
#include "codec/encoder.hpp"
#include "precision.hpp"
#include "workers.hpp"

namespace damaris::hdf5 {

// Values in the file's type, with what was found in them. A view: valid until the encoder's next call.
struct StoredValues {
  const void* data = nullptr;
  std::size_t bytes = 0;
  BrickRange range = {};  // as the simulation wrote them
  std::uint32_t checksum = 0;
  double error = 0;  // the largest one
};

// What H5Dwrite_chunk takes. A view: valid until `put` returns.
struct EncodedChunk {
  const void* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t skipped = 0;  // the filter mask
};

// The part of a box that one chunk holds.
Box frame_of(const Box& brick, const Extents& chunk);

class ChunkEncoder {
 public:
  ChunkEncoder(int threads, MemoryBound memory)
      : memory_(memory), workers_(threads), lanes_(static_cast<std::size_t>(workers_.threads())) {}

  // The number of threads; fewer than requested if the system refuses more.
  int threads() const { return workers_.threads(); }
  std::uint64_t codec_bytes() const { return memory_.codec_bytes(); }

  struct Task {
    const Piece& piece;
    const Precision& precision;
    const ChunkCodec& codec;
    Extents chunk;
    bool whole_chunks;  // fills up a chunk that extends beyond the dataset, with zeros; else its data are those of the brick alone
  };
  // `values` are those of the brick alone.
  using Put = std::function<void(const Box& brick, const StoredValues& values, const EncodedChunk& chunk)>;
  // Encodes each brick, which is the part of one chunk inside the dataset; several at a time, as far as the memory allows. Calls `put` for
  // each, in their order, on this thread.
  void encode(const Task& task, const std::vector<Box>& bricks, const Put& put);

  // The values of a part of the piece in the file's type, in C order.
  StoredValues values_of(const Piece& piece, const Precision& precision, const Box& part);
  // A chunk of `count` values in the file's type; `row` of them are contiguous.
  EncodedChunk encode(const ChunkCodec& codec, const codec::Chunk& values);

  // A buffer for other work between two calls.
  Staging& staging() { return lanes_.front().gathered; }

 private:
  // The state of one worker for one chunk; reused, so that memory is allocated only for larger chunks.
  struct Lane {
    Staging gathered, changed, framed, shuffled;
    std::map<std::pair<codec::Codec, int>, std::unique_ptr<codec::Encoder>> encoders;
    Box brick;
    StoredValues values;
    EncodedChunk chunk;
  };

  static void take_values(Lane& lane, const Piece& piece, const Precision& precision);
  static void prepare(Lane& lane, const Task& task);
  static EncodedChunk encode(Lane& lane, const ChunkCodec& codec, const codec::Chunk& values);

  MemoryBound memory_;
  Workers workers_;
  std::vector<Lane> lanes_;
};

}  // namespace damaris::hdf5
