#include "dataset_writer.hpp"

#include "bricks.hpp"
#include "new_dataset.hpp"
#include "piece_memory.hpp"
#include "types.hpp"

namespace damaris::hdf5 {
Dataset DatasetWriter::write(hid_t file, const Piece& piece) {
  if (volume(piece.box) > 0 && is_reduced(piece)) return reducer_.write(file, piece);
  const Type type = type_of(*piece.variable);
  Dataset dataset = create(file, piece, type);
  if (volume(piece.box) == 0) return dataset;
  if (const std::byte* whole = in_place(piece, piece.box)) {
    write_box(dataset, piece, type, piece.box, whole);
  } else {
    for_each_brick(piece.box, brick_extents(piece.box, piece.variable->element_bytes),
                   [&](const Box& brick) { write_box(dataset, piece, type, brick, elements_of(piece, brick, staging_)); });
  }
  return dataset;
}

Dataset DatasetWriter::create(hid_t file, const Piece& piece, const Type& type) const {
  const Properties properties = dataset_properties();
  if (!filters_.empty() && piece.box.ndims > 0 && volume(piece.box) > 0) {
    set_chunk(properties, piece, brick_extents(piece.box, piece.variable->element_bytes));
    add_filters(properties, filters_);
  }
  return create_dataset(file, piece, type, properties);
}

}  // namespace damaris::hdf5
