#include "stored_values.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "../bricks.hpp"
#include "../new_dataset.hpp"
#include "open_stored.hpp"
#include "plugins/reduce/crc32.hpp"

namespace damaris::hdf5 {
namespace {

Box box_of(const Dataset& dataset) {
  const Space space(H5Dget_space(dataset.id()), "look at a dataset");
  Box box;
  box.ndims = checked(H5Sget_simple_extent_ndims(space.id()), "look at a dataset");
  if (box.ndims > DC_MAX_DIMS) throw Failure("it has more dimensions than Damaris writes", 0);
  Sizes sizes = {};
  checked(H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr), "look at a dataset");
  std::int64_t elements = 1;
  for (int d = 0; d < box.ndims; ++d) {
    box.high[d] = static_cast<std::int64_t>(sizes[d]);
    if (box.high[d] < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(box.high[d], 1), &elements))
      throw Failure("its extents are beyond all numbers", 0);
  }
  return box;
}

Extents brick_of(const Dataset& dataset, const Box& box, std::size_t element_bytes) {
  const Properties properties(H5Dget_create_plist(dataset.id()), "look at a dataset");
  if (H5Pget_layout(properties.id()) != H5D_CHUNKED) return brick_extents(box, element_bytes);
  Sizes chunk = {};
  checked(H5Pget_chunk(properties.id(), DC_MAX_DIMS, chunk.data()), "look at the chunks");
  Extents extents = {};
  for (int d = 0; d < box.ndims; ++d) extents[d] = static_cast<std::int64_t>(chunk[d]);
  return extents;
}

// What lies elsewhere in the file has no bytes here, and HDF5 would hand out memory for it.
void require_plain(const Type& type) {
  if (H5Tdetect_class(type.id(), H5T_VLEN) != 0 || H5Tdetect_class(type.id(), H5T_REFERENCE) != 0 ||
      (H5Tget_class(type.id()) == H5T_STRING && H5Tis_variable_str(type.id()) != 0))
    throw Failure("its elements are none that Damaris writes", 0);
}

// Makes room for a brick, whose chunk and elements may be of any size that a damaged file can tell.
void make_room(std::vector<std::byte>& values, const Box& brick, std::size_t element_bytes) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(brick)), element_bytes, &bytes) || bytes > values.max_size())
    throw Failure("its chunks are larger than the memory", 0);
  try {
    values.resize(bytes);
  } catch (const std::bad_alloc&) {
    throw Failure("there is no memory for a chunk of " + std::to_string(bytes) + " bytes", 0);
  }
}

// Of the bricks of `part` one after the other.
std::uint32_t checksum_of(const Dataset& dataset, const std::string& path, const Box& part, const Extents& brick_extents) {
  const Type type(H5Dget_type(dataset.id()), "look at a dataset");
  require_plain(type);
  if (volume(part) > 0 && H5Dget_storage_size(dataset.id()) == 0) throw Failure("none of its values is in the file", 0);
  const std::size_t element_bytes = H5Tget_size(type.id());
  Piece whole;
  whole.box = box_of(dataset);
  std::vector<std::byte> values;
  std::uint32_t checksum = 0;
  for_each_brick(part, brick_extents, [&](const Box& brick) {
    const Space memory = space_of(brick), file = space_of(whole.box);
    if (part.ndims > 0)
      checked(
          H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start_of(whole, brick).data(), nullptr, sizes_of(brick).data(), nullptr),
          "select a part of", path);
    make_room(values, brick, element_bytes);
    checked(H5Dread(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, values.data()), "read", path);
    checksum = reduce::crc32(values.data(), values.size(), checksum);
  });
  return checksum;
}

bool has_extents(const Box& whole, const Box& recorded) {
  bool same = whole.ndims == recorded.ndims;
  for (int d = 0; same && d < whole.ndims; ++d) same = whole.extent(d) == recorded.extent(d);
  return same;
}

// The box inside the dataset that holds it.
Box part_of(const StoredDataset& dataset) {
  Box part = dataset.box;
  for (int d = 0; d < part.ndims; ++d) {
    part.low[d] = dataset.start->at(static_cast<std::size_t>(d));
    part.high[d] = part.low[d] + dataset.box.extent(d);
  }
  return part;
}

std::size_t element_bytes_of(const Dataset& dataset) {
  return H5Tget_size(Type(H5Dget_type(dataset.id()), "look at a dataset").id());
}

}  // namespace

std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path) {
  const Box box = box_of(dataset);
  return checksum_of(dataset, path, box, brick_of(dataset, box, element_bytes_of(dataset)));
}

std::uint32_t checksum_of_part(const Dataset& dataset, const std::string& path, const Box& part) {
  const Box whole = box_of(dataset);
  if (whole.ndims != part.ndims || !(intersection(part, whole) == part)) throw Failure("it is smaller than it was", 0);
  return checksum_of(dataset, path, part, brick_extents(part, element_bytes_of(dataset)));
}

std::uint32_t checksum_of(const File& file, const StoredDataset& dataset) {
  const Dataset found = open_dataset(file, dataset.path);
  if (dataset.start) return checksum_of_part(found, dataset.path, part_of(dataset));
  if (!has_extents(box_of(found), dataset.box)) throw Failure("it has other extents than the record says", 0);
  return checksum_of_values(found, dataset.path);
}

}  // namespace damaris::hdf5
