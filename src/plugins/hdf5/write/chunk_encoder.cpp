#include "chunk_encoder.hpp"

#include <algorithm>

#include "codec/checksum.hpp"
#include "codec/shuffle.hpp"

namespace damaris::hdf5 {
namespace {

// Zeros beyond the end of the dataset: added last, so that they count in no error, range or checksum.
const void* filled_up(const void* values, const Box& brick, const Box& frame, std::size_t element_bytes, Staging& framed) {
  if (brick == frame) return values;
  const std::size_t bytes = static_cast<std::size_t>(volume(frame)) * element_bytes;
  framed.resize(std::max(framed.size(), bytes));
  std::fill_n(framed.data(), bytes, std::byte{0});
  copy_region({framed.data(), frame}, {static_cast<const std::byte*>(values), brick}, brick, element_bytes);
  return framed.data();
}

}  // namespace

Box frame_of(const Box& brick, const Extents& chunk) {
  Box frame = brick;
  for (int d = 0; d < brick.ndims; ++d) frame.high[d] = brick.low[d] + chunk[d];
  return frame;
}

void ChunkEncoder::take_values(Lane& lane, const Piece& piece, const Precision& precision) {
  const auto count = static_cast<std::size_t>(volume(lane.brick));
  const void* const values = elements_of(piece, lane.brick, lane.gathered);
  const BrickSummary summary = summarize(*piece.variable, values, count);
  lane.values = {values, count * precision.element_bytes, summary.range, summary.checksum, 0};
  if (precision.kind == DC_EXACT) return;
  lane.changed.resize(std::max(lane.changed.size(), lane.values.bytes));
  lane.values.error = apply(precision, values, count, lane.changed.data());
  lane.values.data = lane.changed.data();
  lane.values.checksum = codec::crc32(lane.values.data, lane.values.bytes);
}

void ChunkEncoder::prepare(Lane& lane, const Task& task) {
  take_values(lane, task.piece, task.precision);
  const std::size_t element_bytes = task.precision.element_bytes;
  const Box frame = task.whole_chunks ? frame_of(lane.brick, task.chunk) : lane.brick;
  const void* const data = filled_up(lane.values.data, lane.brick, frame, element_bytes, lane.framed);
  const auto row = static_cast<std::uint64_t>(frame.ndims > 0 ? frame.extent(frame.ndims - 1) : 1);
  lane.chunk = encode(lane, task.codec, {data, static_cast<std::size_t>(volume(frame)), element_bytes, row});
}

// Deflate without shuffle: bytes have only one plane, so the codec's shuffle leaves them as they are.
EncodedChunk ChunkEncoder::encode(Lane& lane, const ChunkCodec& codec, const codec::Chunk& values) {
  const EncodedChunk plain = {values.data, values.bytes(), codec.skip_all()};
  if (!codec.codec) {
    if (!codec.shuffle) return plain;
    lane.shuffled.resize(std::max(lane.shuffled.size(), values.bytes()));
    codec::shuffle(static_cast<const std::byte*>(values.data), values.count, values.size, lane.shuffled.data(), codec::best_simd());
    return {lane.shuffled.data(), values.bytes(), 0};
  }
  if (codec.level == 0) return plain;
  std::unique_ptr<codec::Encoder>& encoder = lane.encoders[{*codec.codec, codec.level}];
  if (encoder == nullptr) encoder = codec::Encoder::make({*codec.codec, codec.level});
  const codec::Chunk bytes = {values.data, values.bytes(), 1, values.row * values.size};
  const codec::Encoded encoded = encoder->encode(codec.shuffle ? values : bytes);
  return encoded.smaller ? EncodedChunk{encoded.data, encoded.bytes, 0} : plain;
}

void ChunkEncoder::encode(const Task& task, const std::vector<Box>& bricks, const Put& put) {
  if (bricks.empty()) return;
  const std::uint64_t chunk_bytes =
      static_cast<std::uint64_t>(volume(frame_of(bricks.front(), task.chunk))) * task.piece.variable->element_bytes;
  const std::size_t lanes = lanes_within(memory_.codec_bytes(), chunk_bytes, lanes_.size());
  for (std::size_t next = 0; next < bricks.size(); next += lanes) {
    const std::size_t filled = std::min(lanes, bricks.size() - next);
    for (std::size_t i = 0; i < filled; ++i) lanes_[i].brick = bricks[next + i];
    workers_.run(filled, [&](std::size_t i) { prepare(lanes_[i], task); });
    for (std::size_t i = 0; i < filled; ++i) put(lanes_[i].brick, lanes_[i].values, lanes_[i].chunk);
  }
}

StoredValues ChunkEncoder::values_of(const Piece& piece, const Precision& precision, const Box& part) {
  Lane& lane = lanes_.front();
  lane.brick = part;
  take_values(lane, piece, precision);
  return lane.values;
}

EncodedChunk ChunkEncoder::encode(const ChunkCodec& codec, const codec::Chunk& values) {
  return encode(lanes_.front(), codec, values);
}

}  // namespace damaris::hdf5
