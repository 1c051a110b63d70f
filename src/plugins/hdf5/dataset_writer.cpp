#include "dataset_writer.hpp"

#include "brick_index.hpp"
#include "bricks.hpp"
#include "new_dataset.hpp"
#include "piece_memory.hpp"
#include "plugins/reduce/crc32.hpp"
#include "types.hpp"

namespace damaris::hdf5 {

// Brick by brick also where all lies side by side: what was looked at is still in the cache when it is written.
Dataset DatasetWriter::write(hid_t file, const Piece& piece, StoredDataset& told) {
  if (volume(piece.box) > 0 && is_reduced(piece)) return reducer_.write(file, piece, told);
  const dc_variable_info_t& variable = *piece.variable;
  const Type type = type_of(variable);
  const Extents extents = brick_extents(piece.box, variable.element_bytes);
  Dataset dataset = create(file, piece, type, extents);
  BrickIndex index(extents);
  for_each_brick(piece.box, extents, [&](const Box& brick) {
    const std::byte* const values = elements_of(piece, brick, staging_);
    const auto count = static_cast<std::size_t>(volume(brick));
    told.checksum = reduce::crc32(values, count * variable.element_bytes, told.checksum);
    if (has_order(variable.type)) index.add(range_of(variable.type, values, count));
    write_box(dataset, piece, type, brick, values);
  });
  index.label(dataset, piece.box.ndims);
  index.tell(told);
  return dataset;
}

Dataset DatasetWriter::create(hid_t file, const Piece& piece, const Type& type, const Extents& brick) const {
  const Properties properties = dataset_properties();
  if (!filters_.empty() && piece.box.ndims > 0 && volume(piece.box) > 0) {
    set_chunk(properties, piece, brick);
    add_filters(properties, filters_);
  }
  return create_dataset(file, piece, type, properties);
}

}  // namespace damaris::hdf5
