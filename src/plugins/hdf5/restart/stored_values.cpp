#include "stored_values.hpp"

#include <new>
#include <string>
#include <vector>

#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "codec/checksum.hpp"
#include "compressed_chunks.hpp"
#include "stored_layout.hpp"

namespace damaris::hdf5 {
namespace {

// Variable-length elements and references store their data elsewhere in the file, and HDF5 would allocate memory for it.
void require_plain(const Type& type) {
  if (H5Tdetect_class(type.id(), H5T_VLEN) != 0 || H5Tdetect_class(type.id(), H5T_REFERENCE) != 0 ||
      (H5Tget_class(type.id()) == H5T_STRING && H5Tis_variable_str(type.id()) != 0))
    throw Failure("its elements have a type that Damaris never writes", 0);
}

// Allocates memory for a brick, whose size may be arbitrary in a damaged file.
void make_room(std::vector<std::byte>& values, const Box& brick, std::size_t element_bytes) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(brick)), element_bytes, &bytes) || bytes > values.max_size())
    throw Failure("its chunks are larger than the memory", 0);
  try {
    values.resize(bytes);
  } catch (const std::bad_alloc&) {
    throw Failure("out of memory for a chunk of " + std::to_string(bytes) + " bytes", 0);
  }
}

// Reads the values of `brick` of a dataset without filters.
void read_plain(const Dataset& dataset, const std::string& path, const Type& type, const Box& brick,
                std::vector<std::byte>& values) {
  const Space memory = space_of(brick), file(H5Dget_space(dataset.id()), "inspect the extents of", path);
  if (brick.ndims > 0) {
    Sizes start = {};
    for (int d = 0; d < brick.ndims; ++d) start[d] = static_cast<hsize_t>(brick.low[d]);
    checked(H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start.data(), nullptr, sizes_of(brick).data(), nullptr),
            "select a part of", path);
  }
  make_room(values, brick, H5Tget_size(type.id()));
  checked(H5Dread(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, values.data()), "read", path);
}

// The checksum of the bricks of `part` in order.
std::uint32_t checksum_of(const Dataset& dataset, const std::string& path, const StoredLayout& layout, const Box& part,
                          const Extents& brick_extents) {
  const Type type(H5Dget_type(dataset.id()), "inspect a dataset");
  require_plain(type);
  if (volume(part) > 0 && H5Dget_storage_size(dataset.id()) == 0) throw Failure("none of its values are in the file", 0);
  CompressedChunks chunks(dataset, layout, path);
  std::vector<std::byte> values;
  std::uint32_t checksum = 0;
  for_each_brick(part, brick_extents, [&](const Box& brick) {
    if (!layout.has_filters()) read_plain(dataset, path, type, brick, values);
    const std::byte* const of_brick = layout.has_filters() ? chunks.read(brick) : values.data();
    checksum = codec::crc32(of_brick, static_cast<std::size_t>(volume(brick)) * layout.element_bytes, checksum);
  });
  return checksum;
}

bool has_extents(const Box& whole, const Box& recorded) {
  bool same = whole.ndims == recorded.ndims;
  for (int d = 0; same && d < whole.ndims; ++d) same = whole.extent(d) == recorded.extent(d);
  return same;
}

// The box within its dataset.
Box part_of(const manifest::DatasetEntry& dataset) {
  Box part = dataset.box;
  for (int d = 0; d < part.ndims; ++d) {
    part.low[d] = dataset.start->at(static_cast<std::size_t>(d));
    part.high[d] = part.low[d] + dataset.box.extent(d);
  }
  return part;
}

}  // namespace

std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path) {
  const StoredLayout layout = layout_of(dataset, path);
  return checksum_of(dataset, path, layout, layout.whole,
                     layout.chunk ? *layout.chunk : brick_extents(layout.whole, layout.element_bytes));
}

std::uint32_t checksum_of_part(const Dataset& dataset, const std::string& path, const Box& part) {
  const StoredLayout layout = layout_of(dataset, path);
  if (layout.whole.ndims != part.ndims || !(intersection(part, layout.whole) == part))
    throw Failure("it is smaller than when it was stored", 0);
  return checksum_of(dataset, path, layout, part, brick_extents(part, layout.element_bytes));
}

std::uint32_t checksum_of_part(const File& file, const manifest::DatasetEntry& dataset, const Box& part) {
  Box within = part;
  for (int d = 0; d < part.ndims; ++d) {
    const std::int64_t start = dataset.start ? dataset.start->at(static_cast<std::size_t>(d)) : 0;
    within.low[d] += start - dataset.box.low[d];
    within.high[d] += start - dataset.box.low[d];
  }
  return checksum_of_part(open_dataset(file, dataset.path), dataset.path, within);
}

std::uint32_t checksum_of(const File& file, const manifest::DatasetEntry& dataset) {
  const Dataset found = open_dataset(file, dataset.path);
  if (dataset.start) return checksum_of_part(found, dataset.path, part_of(dataset));
  if (!has_extents(layout_of(found, dataset.path).whole, dataset.box))
    throw Failure("it has other extents than in the manifest", 0);
  return checksum_of_values(found, dataset.path);
}

}  // namespace damaris::hdf5
