#include "chunk_writer.hpp"

#include <algorithm>

#include "../file/new_dataset.hpp"
#include "../layout/gather.hpp"
#include "codec/checksum.hpp"
#include "labels.hpp"

namespace damaris::hdf5 {
namespace {

ChunkCodec codec_for(const Piece& piece) { return piece.box.ndims > 0 ? codec_of(piece.variable->reduction) : ChunkCodec{}; }

Properties properties_of(const Piece& piece, const Extents& chunk, const ChunkCodec& codec, const std::vector<Filter>& filters) {
  Properties properties = dataset_properties();
  if (codec.encodes() || has_own_chunk(piece) || !filters.empty()) set_chunk(properties, piece, chunk);
  if (codec.encodes())
    declare(properties, codec);
  else
    add_filters(properties, filters);
  return properties;
}

std::vector<Box> bricks_of(const Box& box, const Extents& chunk) {
  std::vector<Box> bricks;
  for_each_brick(box, chunk, [&](const Box& brick) { bricks.push_back(brick); });
  return bricks;
}

void put_chunk(const Dataset& dataset, const Piece& piece, const Box& brick, const EncodedChunk& chunk) {
  checked(H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, chunk.skipped, start_of(piece, brick).data(), chunk.bytes, chunk.data),
          "write a chunk of", piece.path);
}

}  // namespace

bool is_reduced(const Piece& piece) {
  return piece.variable->reduction.precision != DC_EXACT || piece.variable->reduction.codec != DC_CODEC_NONE;
}

Dataset ChunkWriter::write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  const Precision precision = plan_precision(piece, encoder_.staging(), float16_scales_);
  const Type type = precision.kind == DC_FLOAT16 ? half_type() : type_of(*piece.variable);
  const Extents chunk = chunk_of(piece, encoder_.codec_bytes());
  const ChunkCodec codec = codec_for(piece);
  Dataset dataset = create_dataset(file.id(), piece, type, properties_of(piece, chunk, codec, filters_), file.links());
  note_reduction(entry, piece.variable->reduce, precision);
  BrickIndex index(chunk);
  const auto put = [&](const Box& brick, const StoredValues& values, const EncodedChunk& encoded) {
    if (codec.encodes())
      put_chunk(dataset, piece, brick, encoded);
    else
      write_box(dataset, piece, type, brick, values.data);
    entry.checksum = codec::crc32_joined(entry.checksum, values.checksum, values.bytes);
    if (entry.largest_error) entry.largest_error = std::max(*entry.largest_error, values.error);
    if (has_order(piece.variable->type)) index.add(values.range);
  };
  encoder_.encode({piece, precision, codec, chunk, codec.encodes()}, bricks_of(piece.box, chunk), put);
  index.label(dataset, piece.box.ndims);
  index.fill_range(entry);
  label_reduction(dataset.id(), *piece.variable, precision, entry.largest_error);
  return dataset;
}

}  // namespace damaris::hdf5
