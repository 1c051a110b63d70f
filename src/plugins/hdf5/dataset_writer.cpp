#include "dataset_writer.hpp"

#include "bricks.hpp"
#include "gather.hpp"
#include "library.hpp"
#include "types.hpp"

namespace damaris::hdf5 {
namespace {

using Sizes = std::array<hsize_t, DC_MAX_DIMS>;

Sizes sizes_of(const Box& box) {
  Sizes sizes = {};
  for (int d = 0; d < box.ndims; ++d) sizes[d] = static_cast<hsize_t>(box.extent(d));
  return sizes;
}

Space space_of(const Box& box) { return Space(H5Screate_simple(box.ndims, sizes_of(box).data(), nullptr), "make a space"); }

Properties link_properties() {
  Properties link(H5Pcreate(DAMARIS_HDF5_CLASS(LINK_CREATE)), "make the link's properties");
  checked(H5Pset_create_intermediate_group(link.id(), 1), "ask for groups");
  checked(H5Pset_char_encoding(link.id(), H5T_CSET_UTF8), "set the encoding of names");
  return link;
}

Properties dataset_properties(const Piece& piece, const std::vector<Filter>& filters) {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  // Every element is written, so there is nothing to fill; and our attributes are few: keep them beside the header.
  checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER), "set the fill time");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  if (filters.empty() || piece.box.ndims == 0 || volume(piece.box) == 0) return properties;
  const Extents bricks = brick_extents(piece.box, piece.variable->element_bytes);
  const Sizes chunk = sizes_of({piece.box.ndims, {}, bricks});
  checked(H5Pset_chunk(properties.id(), piece.box.ndims, chunk.data()), "set the chunk of", piece.path);
  add_filters(properties, filters);
  return properties;
}

void write_box(const Dataset& dataset, const Piece& piece, const Type& type, const Box& box, const void* data) {
  Sizes start = {};
  for (int d = 0; d < box.ndims; ++d) start[d] = static_cast<hsize_t>(box.low[d] - piece.box.low[d]);
  const Space memory = space_of(box), file = space_of(piece.box);
  if (box.ndims > 0)
    checked(H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start.data(), nullptr, sizes_of(box).data(), nullptr),
            "select a part of", piece.path);
  checked(H5Dwrite(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, data), "write the dataset", piece.path);
}

const std::byte* bytes_of(const dc_dataset_t& block) { return static_cast<const std::byte*>(block.data); }

// The box where it lies in the region, if a single part holds it as one run: then nothing is copied.
const std::byte* in_place(const Piece& piece, const Box& box) {
  for (const Part& part : piece.parts) {
    if (!(intersection(part.box, box) == box)) continue;
    std::size_t offset = 0;
    const bool run = is_contiguous(in_memory(*part.block), box, piece.variable->element_bytes, offset);
    return run ? bytes_of(*part.block) + offset : nullptr;
  }
  return nullptr;
}

}  // namespace

Dataset DatasetWriter::write(hid_t file, const Piece& piece) {
  const Type type = type_of(*piece.variable);
  Dataset dataset = create(file, piece, type);
  if (volume(piece.box) == 0) return dataset;
  if (const std::byte* whole = in_place(piece, piece.box)) {
    write_box(dataset, piece, type, piece.box, whole);
  } else {
    write_bricks(dataset, piece, type);
  }
  return dataset;
}

Dataset DatasetWriter::create(hid_t file, const Piece& piece, const Type& type) const {
  return Dataset(H5Dcreate2(file, piece.path.c_str(), type.id(), space_of(piece.box).id(), link_properties().id(),
                            dataset_properties(piece, filters_).id(), H5P_DEFAULT),
                 "create the dataset", piece.path);
}

void DatasetWriter::write_bricks(const Dataset& dataset, const Piece& piece, const Type& type) {
  for_each_brick(piece.box, brick_extents(piece.box, piece.variable->element_bytes), [&](const Box& brick) {
    const std::byte* data = in_place(piece, brick);
    write_box(dataset, piece, type, brick, data != nullptr ? data : collect(piece, brick));
  });
}

const std::byte* DatasetWriter::collect(const Piece& piece, const Box& brick) {
  const std::size_t element_bytes = piece.variable->element_bytes;
  const std::size_t bytes = static_cast<std::size_t>(volume(brick)) * element_bytes;
  if (staging_.size() < bytes) staging_.resize(bytes);
  for (const Part& part : piece.parts)
    if (const Box shared = intersection(part.box, brick); volume(shared) > 0)
      copy_region({staging_.data(), brick}, {bytes_of(*part.block), in_memory(*part.block)}, shared, element_bytes);
  return staging_.data();
}

}  // namespace damaris::hdf5
