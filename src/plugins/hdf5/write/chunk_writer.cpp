#include "chunk_writer.hpp"

#include <algorithm>

#include "../file/new_dataset.hpp"
#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "codec/checksum.hpp"

namespace damaris::hdf5 {
namespace {

// The index of a dataset's chunks takes 2.1 KB of the file, more than compression saves of so few bytes of the variable: it stays contiguous.
constexpr std::uint64_t kSmallBytes = 4096;

bool is_compressed(const Piece& piece) {
  if (piece.variable->reduction.codec == DC_CODEC_NONE || piece.box.ndims == 0) return false;
  return has_own_chunk(piece) || static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes > kSmallBytes;
}

Box frame_of(const Box& brick, const Extents& chunk) {
  Box frame = brick;
  for (int d = 0; d < brick.ndims; ++d) frame.high[d] = brick.low[d] + chunk[d];
  return frame;
}

Properties properties_of(const Piece& piece, const Extents& chunk, const std::vector<Filter>& filters) {
  Properties properties = dataset_properties();
  const bool has_codec = piece.variable->reduction.codec != DC_CODEC_NONE;
  if (is_compressed(piece) || has_own_chunk(piece) || (!has_codec && !filters.empty())) set_chunk(properties, piece, chunk);
  if (!is_compressed(piece)) {
    if (!has_codec) add_filters(properties, filters);
    return properties;
  }
  const dc_reduction_t& reduction = piece.variable->reduction;
  checked(H5Pset_shuffle(properties.id()), "set the shuffle filter");
  const auto level = static_cast<unsigned>(reduction.level);
  if (reduction.codec == DC_CODEC_DEFLATE)
    checked(H5Pset_deflate(properties.id(), std::min(level, 9U)), "set the deflate filter");
  else  // optional: this HDF5 need not have the filter, as it never runs it
    checked(H5Pset_filter(properties.id(), codec::kZstdFilter, H5Z_FLAG_OPTIONAL, 1, &level), "set the zstd filter");
  return properties;
}

// Uses the names of the CF conventions where they exist, so that readers dequantize.
void label(const Dataset& dataset, const Piece& piece, const Precision& precision, const manifest::DatasetEntry& entry) {
  const dc_reduction_t& asked = piece.variable->reduction;
  if (asked.precision == DC_EXACT) return;  // no attributes, so that h5diff finds no difference from an uncompressed dataset
  write_attribute(dataset.id(), "reduce", std::string(piece.variable->reduce));
  if (precision.overflows) return write_attribute(dataset.id(), "overflowed_float16", std::int32_t{1});
  write_attribute(dataset.id(), precision.kind == DC_ROUND_RELATIVE ? "largest_relative_error" : "largest_error",
                  *entry.largest_error);
  if (precision.kind != DC_FLOAT16) return write_attribute(dataset.id(), "error_bound", asked.bound);
  write_attribute(dataset.id(), "scale_factor", precision.scaling.scale);
  write_attribute(dataset.id(), "add_offset", precision.scaling.offset);
}

}  // namespace

bool is_reduced(const Piece& piece) {
  return piece.variable->reduction.precision != DC_EXACT || piece.variable->reduction.codec != DC_CODEC_NONE;
}

Dataset ChunkWriter::write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  const Precision precision = plan_precision(piece, lanes_.front().gathered, float16_scales_);
  const Type type = precision.kind == DC_FLOAT16 ? half_type() : type_of(*piece.variable);
  const Extents chunk = chunk_of(piece, memory_.codec_bytes());
  Dataset dataset = create_dataset(file.id(), piece, type, properties_of(piece, chunk, filters_), file.links());
  entry.reduce = piece.variable->reduce;
  if (precision.kind != DC_EXACT) entry.largest_error = 0;
  if (precision.kind == DC_FLOAT16) {
    entry.scale = precision.scaling.scale;
    entry.offset = precision.scaling.offset;
  }
  write_all({piece, precision, dataset, type, chunk, entry});
  label(dataset, piece, precision, entry);
  return dataset;
}

void ChunkWriter::write_all(const ChunkTarget& target) {
  BrickIndex index(target.chunk);
  const std::uint64_t chunk_bytes =
      static_cast<std::uint64_t>(volume(frame_of(target.piece.box, target.chunk))) * target.piece.variable->element_bytes;
  const std::size_t lanes = lanes_within(memory_.codec_bytes(), chunk_bytes, lanes_.size());
  std::size_t filled = 0;
  const auto flush = [&] {
    workers_.run(filled, [&](std::size_t i) { prepare(lanes_[i], target); });
    for (std::size_t i = 0; i < filled; ++i) {
      put(lanes_[i], target);
      note(lanes_[i], target, index);
    }
    filled = 0;
  };
  for_each_brick(target.piece.box, target.chunk, [&](const Box& brick) {
    lanes_[filled++].brick = brick;
    if (filled == lanes) flush();
  });
  if (filled > 0) flush();
  index.label(target.dataset, target.piece.box.ndims);
  index.fill_range(target.entry);
}

void ChunkWriter::note(const ChunkLane& lane, const ChunkTarget& target, BrickIndex& index) {
  const auto bytes = static_cast<std::uint64_t>(volume(lane.brick)) * target.precision.element_bytes;
  target.entry.checksum = codec::crc32_joined(target.entry.checksum, lane.checksum, bytes);
  if (target.entry.largest_error) target.entry.largest_error = std::max(*target.entry.largest_error, lane.error);
  if (has_order(target.piece.variable->type)) index.add(lane.range);
}

void ChunkWriter::prepare(ChunkLane& lane, const ChunkTarget& target) const {
  const auto count = static_cast<std::size_t>(volume(lane.brick));
  lane.values = elements_of(target.piece, lane.brick, lane.gathered);
  const BrickSummary summary = summarize(*target.piece.variable, lane.values, count);
  lane.range = summary.range;
  lane.checksum = summary.checksum;
  lane.error = 0;
  if (target.precision.kind != DC_EXACT) {
    const std::size_t bytes = count * target.precision.element_bytes;
    lane.changed.resize(std::max(lane.changed.size(), bytes));
    lane.error = apply(target.precision, lane.values, count, lane.changed.data());
    lane.values = lane.changed.data();
    lane.checksum = codec::crc32(lane.values, bytes);
  }
  if (!is_compressed(target.piece)) return;
  const Box frame = frame_of(lane.brick, target.chunk);
  fill_up(lane, frame, target.precision.element_bytes);
  encode(lane, target, frame);
}

// Adds zeros to a chunk that is cut off by the end of the dataset: last, so that they count in no error, range or checksum.
void ChunkWriter::fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes) {
  if (lane.brick == frame) return;
  const std::size_t bytes = static_cast<std::size_t>(volume(frame)) * element_bytes;
  lane.framed.resize(std::max(lane.framed.size(), bytes));
  std::fill_n(lane.framed.data(), bytes, std::byte{0});
  copy_region({lane.framed.data(), frame}, {static_cast<const std::byte*>(lane.values), lane.brick}, lane.brick, element_bytes);
  lane.values = lane.framed.data();
}

void ChunkWriter::encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const {
  const dc_reduction_t& reduction = target.piece.variable->reduction;
  std::unique_ptr<codec::Encoder>& encoder = lane.encoders[{reduction.codec, reduction.level}];
  const codec::Codec codec = reduction.codec == DC_CODEC_DEFLATE ? codec::Codec::kDeflate : codec::Codec::kZstd;
  if (encoder == nullptr) encoder = codec::Encoder::make({codec, reduction.level});
  const auto row = static_cast<std::uint64_t>(frame.extent(frame.ndims - 1));
  lane.encoded = encoder->encode({lane.values, static_cast<std::size_t>(volume(frame)), target.precision.element_bytes, row});
}

void ChunkWriter::put(const ChunkLane& lane, const ChunkTarget& target) const {
  if (!is_compressed(target.piece)) return write_box(target.dataset, target.piece, target.type, lane.brick, lane.values);
  const std::size_t raw_bytes =
      static_cast<std::size_t>(volume(frame_of(lane.brick, target.chunk))) * target.precision.element_bytes;
  const bool smaller = lane.encoded.smaller;
  checked(
      H5Dwrite_chunk(target.dataset.id(), H5P_DEFAULT, smaller ? 0 : codec::kSkipFilters, start_of(target.piece, lane.brick).data(),
                     smaller ? lane.encoded.bytes : raw_bytes, smaller ? lane.encoded.data : lane.values),
      "write a chunk of", target.piece.path);
}

}  // namespace damaris::hdf5
