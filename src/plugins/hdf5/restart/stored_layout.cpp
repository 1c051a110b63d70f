#include "stored_layout.hpp"

#include <algorithm>

#include "../file/new_dataset.hpp"

namespace damaris::hdf5 {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw Failure("the dataset " + path + " " + why, 0); }

Box box_of(const Dataset& dataset, const std::string& path) {
  const Space space(H5Dget_space(dataset.id()), "look at the extents of", path);
  Box box;
  box.ndims = checked(H5Sget_simple_extent_ndims(space.id()), "look at the extents of", path);
  if (box.ndims > DC_MAX_DIMS) refuse(path, "has more dimensions than Damaris writes");
  Sizes sizes = {};
  checked(H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr), "look at the extents of", path);
  std::int64_t elements = 1;
  for (int d = 0; d < box.ndims; ++d) {
    box.high[d] = static_cast<std::int64_t>(sizes[d]);
    if (box.high[d] < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(box.high[d], 1), &elements))
      refuse(path, "has extents beyond all numbers");
  }
  return box;
}

Extents chunk_of(const Properties& made, const Box& whole, const std::string& path) {
  Sizes sizes = {};
  if (checked(H5Pget_chunk(made.id(), DC_MAX_DIMS, sizes.data()), "look at the chunks of", path) != whole.ndims)
    refuse(path, "has chunks of other dimensions than its own");
  Extents chunk = {};
  for (int d = 0; d < whole.ndims; ++d) {
    if (sizes[d] == 0 || sizes[d] > static_cast<hsize_t>(std::max<std::int64_t>(whole.extent(d), 1)))
      refuse(path, "has chunks that are larger than it is, as Damaris writes none");
    chunk[d] = static_cast<std::int64_t>(sizes[d]);
  }
  return chunk;
}

// What Damaris writes: shuffle, a codec, or both in this order. Without its name, for which HDF5 would load a filter that it does not know.
bool take_filter(const Properties& made, unsigned index, StoredLayout& layout) {
  unsigned flags = 0, values[1] = {};
  std::size_t count = 1;
  const H5Z_filter_t filter = H5Pget_filter2(made.id(), index, &flags, &count, values, 0, nullptr, nullptr);
  if (layout.codec) return false;
  if (filter == H5Z_FILTER_SHUFFLE) {
    if (index > 0 || count != 1 || values[0] != layout.element_bytes) return false;
    return layout.is_shuffled = true;
  }
  if (filter == H5Z_FILTER_DEFLATE) layout.codec = codec::Codec::kDeflate;
  if (filter == static_cast<H5Z_filter_t>(codec::kZstdFilter)) layout.codec = codec::Codec::kZstd;
  return layout.codec.has_value();
}

}  // namespace

StoredLayout layout_of(const Dataset& dataset, const std::string& path) {
  StoredLayout layout;
  layout.whole = box_of(dataset, path);
  layout.element_bytes = H5Tget_size(Type(H5Dget_type(dataset.id()), "look at the type of", path).id());
  const Properties made(H5Dget_create_plist(dataset.id()), "look at the layout of", path);
  // HDF5 1.10 reads as many bytes as the extents say, however few are there.
  if (H5Pget_layout(made.id()) == H5D_COMPACT) refuse(path, "has its values in its header, where Damaris puts none");
  if (H5Pget_layout(made.id()) == H5D_CHUNKED) layout.chunk = chunk_of(made, layout.whole, path);
  const auto filters = static_cast<unsigned>(checked(H5Pget_nfilters(made.id()), "look at the filters of", path));
  for (unsigned i = 0; layout.chunk && i < filters; ++i)
    if (!take_filter(made, i, layout)) refuse(path, "has filters that Damaris does not write");
  return layout;
}

}  // namespace damaris::hdf5
