#include "dataset_writer.hpp"

#include <algorithm>

#include "bricks.hpp"
#include "new_dataset.hpp"
#include "piece_memory.hpp"
#include "plugins/reduce/crc32.hpp"
#include "types.hpp"

namespace damaris::hdf5 {

namespace {

// In the machine's own byte order, which is that of the file: contiguous data can go there as it is.
constexpr bool kSameOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
// Looked at and written while it is in the first caches.
constexpr std::size_t kCachedBytes = std::size_t{128} << 10;

std::uint64_t offset_of(const Dataset& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw_hdf5_failure("find the place of", path);
  return offset;
}

}  // namespace

Dataset DatasetWriter::write(Hdf5File& file, const Piece& piece, StoredDataset& told) {
  if (volume(piece.box) > 0 && is_reduced(piece)) return reducer_.write(file.id(), piece, told);
  const dc_variable_info_t& variable = *piece.variable;
  const Type type = type_of(variable);
  const Extents extents = chunk_of(piece, memory_.packing_bytes());
  Dataset dataset = create(file.id(), piece, type, extents);
  const bool direct = kSameOrder && !chunked(piece) && volume(piece.box) > 0;
  std::uint64_t offset = direct ? offset_of(dataset, piece.path) : 0;
  BrickIndex index(extents);
  for_each_brick(piece.box, extents, [&](const Box& brick) {
    const BrickRange range =
        direct ? write_run(file.target(), offset, piece, brick, told) : write_chunk(dataset, type, piece, brick, told);
    offset += static_cast<std::uint64_t>(volume(brick)) * variable.element_bytes;
    if (has_order(variable.type)) index.add(range);
  });
  index.label(dataset, piece.box.ndims);
  index.tell(told);
  return dataset;
}

// Contiguous in the file: bricks are runs of it, one after the other, and HDF5 would only pass them on.
BrickRange DatasetWriter::write_run(WriteTarget& target, std::uint64_t offset, const Piece& piece, const Box& brick,
                                    StoredDataset& told) {
  const dc_variable_info_t& variable = *piece.variable;
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  const std::size_t most = std::max<std::size_t>(kCachedBytes / variable.element_bytes, 1);
  BrickRange range = no_range();
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t part = std::min(most, count - done), bytes = part * variable.element_bytes;
    const std::byte* const begin = values + done * variable.element_bytes;
    const std::uint32_t checksum = reduce::crc32(begin, bytes);
    if (has_order(variable.type)) range = both(range, range_of(variable.type, begin, part));
    target.write(offset + done * variable.element_bytes, begin, bytes, checksum);
    told.checksum = reduce::crc32_joined(told.checksum, checksum, bytes);
  }
  return range;
}

BrickRange DatasetWriter::write_chunk(const Dataset& dataset, const Type& type, const Piece& piece, const Box& brick,
                                      StoredDataset& told) {
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  told.checksum = reduce::crc32(values, count * piece.variable->element_bytes, told.checksum);
  write_box(dataset, piece, type, brick, values);
  return has_order(piece.variable->type) ? range_of(piece.variable->type, values, count) : no_range();
}

bool DatasetWriter::chunked(const Piece& piece) const {
  return (!filters_.empty() || has_own_chunk(piece)) && piece.box.ndims > 0 && volume(piece.box) > 0;
}

Dataset DatasetWriter::create(hid_t file, const Piece& piece, const Type& type, const Extents& brick) const {
  const Properties properties = dataset_properties();
  if (chunked(piece)) {
    set_chunk(properties, piece, brick);
    add_filters(properties, filters_);
  } else {
    checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "ask for early allocation");
  }
  return create_dataset(file, piece, type, properties);
}

}  // namespace damaris::hdf5
