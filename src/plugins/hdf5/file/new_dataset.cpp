#include "new_dataset.hpp"

#include "library.hpp"

namespace damaris::hdf5 {

Properties link_properties() {
  Properties link(H5Pcreate(DAMARIS_HDF5_CLASS(LINK_CREATE)), "make the link's properties");
  checked(H5Pset_create_intermediate_group(link.id(), 1), "ask for groups");
  checked(H5Pset_char_encoding(link.id(), H5T_CSET_UTF8), "set the encoding of names");
  return link;
}

Sizes sizes_of(const Box& box) {
  Sizes sizes = {};
  for (int d = 0; d < box.ndims; ++d) sizes[d] = static_cast<hsize_t>(box.extent(d));
  return sizes;
}

Sizes start_of(const Piece& piece, const Box& box) {
  Sizes start = {};
  for (int d = 0; d < box.ndims; ++d) start[d] = static_cast<hsize_t>(box.low[d] - piece.box.low[d]);
  return start;
}

Space space_of(const Box& box) { return Space(H5Screate_simple(box.ndims, sizes_of(box).data(), nullptr), "make a space"); }

// Every element is written, so there is nothing to fill; and our attributes are few: keep them beside the header.
Properties dataset_properties() {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER), "set the fill time");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  return properties;
}

Properties contiguous_properties() {
  Properties properties = dataset_properties();
  checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "ask for early allocation");
  return properties;
}

void set_chunk(const Properties& properties, const Piece& piece, const Extents& extents) {
  const Sizes chunk = sizes_of({piece.box.ndims, {}, extents});
  checked(H5Pset_chunk(properties.id(), piece.box.ndims, chunk.data()), "set the chunk of", piece.path);
}

Dataset create_dataset(hid_t file, const Piece& piece, const Type& type, const Properties& properties, const Properties& links) {
  return Dataset(
      H5Dcreate2(file, piece.path.c_str(), type.id(), space_of(piece.box).id(), links.id(), properties.id(), H5P_DEFAULT),
      "create the dataset", piece.path);
}

void write_box(const Dataset& dataset, const Piece& piece, const Type& type, const Box& box, const void* data) {
  const Space memory = space_of(box), file = space_of(piece.box);
  if (box.ndims > 0)
    checked(H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start_of(piece, box).data(), nullptr, sizes_of(box).data(), nullptr),
            "select a part of", piece.path);
  checked(H5Dwrite(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, data), "write the dataset", piece.path);
}

}  // namespace damaris::hdf5
