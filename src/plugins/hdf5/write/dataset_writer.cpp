#include "dataset_writer.hpp"

#include <algorithm>

#include "../file/new_dataset.hpp"
#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "codec/checksum.hpp"

namespace damaris::hdf5 {

namespace {

// Whether the host's byte order is that of the file, so that contiguous data can be written unconverted.
constexpr bool kSameOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
// From this size on, the space of all values is preallocated at once.
constexpr std::size_t kWorthReserving = std::size_t{1} << 20;

std::uint64_t offset_of(const Dataset& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw_hdf5_failure("find the place of", path);
  return offset;
}

}  // namespace

Dataset DatasetWriter::write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  if (volume(piece.box) > 0 && is_reduced(piece)) return reducer_.write(file, piece, entry);
  const dc_variable_info_t& variable = *piece.variable;
  // A dataset without values keeps only the type of its reduction.
  const Type type = variable.reduction.precision == DC_FLOAT16 ? half_type() : type_of(variable);
  const Extents extents = chunk_of(piece, memory_.codec_bytes());
  Dataset dataset = create(file, piece, type, extents);
  const bool direct = goes_past_hdf5(piece);
  AlignedWriter out(file.target(), direct ? offset_of(dataset, piece.path) : 0);
  BrickIndex index(extents);
  for_each_brick(piece.box, extents, [&](const Box& brick) {
    const BrickRange range = direct ? write_run(out, piece, brick, entry) : write_chunk(dataset, type, piece, brick, entry);
    if (has_order(variable.type)) index.add(range);
  });
  out.flush();
  index.label(dataset, piece.box.ndims);
  index.fill_range(entry);
  return dataset;
}

// The dataset is contiguous in the file and its bricks follow each other, so HDF5 would only pass them through.
BrickRange DatasetWriter::write_run(AlignedWriter& out, const Piece& piece, const Box& brick, manifest::DatasetEntry& entry) {
  const std::size_t element_bytes = piece.variable->element_bytes;
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  BrickRange range = no_range();
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(std::max<std::size_t>(out.room() / element_bytes, 1), count - done);
    const std::byte* const begin = values + done * element_bytes;
    const BrickSummary summary = summarize(*piece.variable, begin, part);
    range = merged(range, summary.range);
    entry.checksum = codec::crc32_joined(entry.checksum, summary.checksum, part * element_bytes);
    out.add(begin, part * element_bytes, summary.checksum);
    done += part;
  }
  if (values == staging_.data()) out.flush();  // the next brick reuses the staging memory
  return range;
}

BrickRange DatasetWriter::write_chunk(const Dataset& dataset, const Type& type, const Piece& piece, const Box& brick,
                                      manifest::DatasetEntry& entry) {
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  const BrickSummary summary = summarize(*piece.variable, values, count);
  entry.checksum = codec::crc32_joined(entry.checksum, summary.checksum, count * piece.variable->element_bytes);
  write_box(dataset, piece, type, brick, values);
  return summary.range;
}

bool DatasetWriter::chunked(const Piece& piece) const {
  return (!filters_.empty() || has_own_chunk(piece)) && piece.box.ndims > 0 && volume(piece.box) > 0;
}

bool DatasetWriter::goes_past_hdf5(const Piece& piece) const {
  return kSameOrder && !is_reduced(piece) && !chunked(piece) && volume(piece.box) > 0;
}

void DatasetWriter::reserve(Hdf5File& file, const std::vector<Piece>& pieces) const {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces)
    if (goes_past_hdf5(piece)) bytes += static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes;
  if (bytes >= kWorthReserving) file.target().reserve(bytes);
}

Dataset DatasetWriter::create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& brick) const {
  if (!chunked(piece)) return create_dataset(file.id(), piece, type, file.contiguous(), file.links());
  const Properties properties = dataset_properties();
  set_chunk(properties, piece, brick);
  add_filters(properties, filters_);
  return create_dataset(file.id(), piece, type, properties, file.links());
}

}  // namespace damaris::hdf5
