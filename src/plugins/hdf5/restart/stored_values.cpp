#include "stored_values.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "codec/checksum.hpp"
#include "codec/encoder.hpp"
#include "codec/shuffle.hpp"

namespace damaris::hdf5 {
namespace {

herr_t reject_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

Properties without_locks() {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  checked(H5Pset_fapl_sec2(access.id()), "set the file driver");  // overrides HDF5_DRIVER
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  checked(H5Pset_file_locking(access.id(), false, true), "disable the file's lock");
#endif
  return access;
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// A name with which HDF5 opens the file of the descriptor even if its path was replaced; the path if there is no /proc.
std::string name_of(int descriptor, const struct stat& expected, const std::string& path) {
  const std::string by_number = "/proc/self/fd/" + std::to_string(descriptor);
  struct stat there = {};
  return ::stat(by_number.c_str(), &there) == 0 && is_same_file(there, expected) ? by_number : path;
}

struct stat opened_by(const File& file, const std::string& path) {
  void* descriptor = nullptr;
  checked(H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &descriptor), "inspect", path);
  struct stat info = {};
  if (::fstat(*static_cast<const int*>(descriptor), &info) != 0) throw_system_failure(errno, "stat", path);
  return info;
}

}  // namespace

// Makes sure that HDF5 opened the file that was checked, which may have been replaced meanwhile.
File open_stored(const std::string& path) {
  const StoredFileReader file(path);
  require_open(file, path);
  struct stat expected = {};
  if (::fstat(file.descriptor(), &expected) != 0) throw_system_failure(errno, "stat", path);
  const std::string name = name_of(file.descriptor(), expected, path);
  File opened(H5Fopen(name.c_str(), H5F_ACC_RDONLY, without_locks().id()), "open as an HDF5 file", path);
  if (!is_same_file(opened_by(opened, path), expected)) throw Failure(path + " was replaced while it was opened", 0);
  return opened;
}

Dataset open_dataset(const File& file, const std::string& path) {
  const Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_ACCESS)), "make a dataset's properties");
  checked(H5Pset_elink_cb(access.id(), reject_link, nullptr), "refuse links to other files");
  Dataset dataset(H5Dopen2(file.id(), path.c_str(), access.id()), "open the dataset", path);
  const Properties made(H5Dget_create_plist(dataset.id()), "inspect a dataset");
  if (H5Pget_layout(made.id()) == H5D_VIRTUAL || H5Pget_external_count(made.id()) != 0)
    throw Failure("the values of " + path + " are in another file, which Damaris never writes", 0);
  layout_of(dataset, path);
  return dataset;
}

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw Failure("the dataset " + path + " " + why, 0); }

Box box_of(const Dataset& dataset, const std::string& path) {
  const Space space(H5Dget_space(dataset.id()), "inspect the extents of", path);
  Box box;
  box.ndims = checked(H5Sget_simple_extent_ndims(space.id()), "inspect the extents of", path);
  if (box.ndims > DC_MAX_DIMS) refuse(path, "has more dimensions than Damaris writes");
  Sizes sizes = {};
  checked(H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr), "inspect the extents of", path);
  std::int64_t elements = 1;
  for (int d = 0; d < box.ndims; ++d) {
    box.high[d] = static_cast<std::int64_t>(sizes[d]);
    if (box.high[d] < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(box.high[d], 1), &elements))
      refuse(path, "has extents that overflow");
  }
  return box;
}

Extents chunk_of(const Properties& made, const Box& whole, const std::string& path) {
  Sizes sizes = {};
  if (checked(H5Pget_chunk(made.id(), DC_MAX_DIMS, sizes.data()), "inspect the chunks of", path) != whole.ndims)
    refuse(path, "has chunks of other dimensions than its own");
  Extents chunk = {};
  for (int d = 0; d < whole.ndims; ++d) {
    if (sizes[d] == 0 || sizes[d] > static_cast<hsize_t>(std::max<std::int64_t>(whole.extent(d), 1)))
      refuse(path, "has chunks larger than itself, which Damaris never writes");
    chunk[d] = static_cast<std::int64_t>(sizes[d]);
  }
  return chunk;
}

// Accepts what Damaris writes: shuffle, a codec, or both in this order. Does not ask for the filter's name, for which HDF5 would load an
// unknown filter.
bool read_filter(const Properties& made, unsigned index, StoredLayout& layout) {
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
  layout.element_bytes = H5Tget_size(Type(H5Dget_type(dataset.id()), "inspect the type of", path).id());
  const Properties made(H5Dget_create_plist(dataset.id()), "inspect the layout of", path);
  // HDF5 1.10 reads as many bytes as the extents imply, even if fewer exist.
  if (H5Pget_layout(made.id()) == H5D_COMPACT) refuse(path, "has its values in its header, which Damaris never writes");
  if (H5Pget_layout(made.id()) == H5D_CHUNKED) layout.chunk = chunk_of(made, layout.whole, path);
  const auto filters = static_cast<unsigned>(checked(H5Pget_nfilters(made.id()), "inspect the filters of", path));
  for (unsigned i = 0; layout.chunk && i < filters; ++i)
    if (!read_filter(made, i, layout)) refuse(path, "has filters that Damaris does not write");
  return layout;
}

namespace {

// The largest stored size: HDF5 keeps a deflated chunk even if it is slightly larger.
std::size_t max_stored(std::size_t bytes) { return bytes + bytes / 1000 + 64; }

}  // namespace

std::byte* CompressedChunks::Buffer::at_least(std::size_t bytes) {
  if (bytes <= bytes_) return memory_.get();
  memory_.reset();
  bytes_ = 0;
  try {
    memory_.reset(new std::byte[bytes]);
  } catch (const std::bad_alloc&) {
    throw Failure("out of memory for a chunk of " + std::to_string(bytes) + " bytes", 0);
  }
  bytes_ = bytes;
  return memory_.get();
}

CompressedChunks::CompressedChunks(const Dataset& dataset, const StoredLayout& layout, std::string path)
    : dataset_(dataset), layout_(layout), path_(std::move(path)) {}

void CompressedChunks::refuse(const std::string& why) const { throw Failure("a chunk of the dataset " + path_ + " " + why, 0); }

void CompressedChunks::for_each_part(const Box& box, const std::function<void(const Box& part)>& each) const {
  if (volume(box) == 0) return;
  Box aligned = box;
  for (int d = 0; d < box.ndims; ++d) aligned.low[d] -= box.low[d] % layout_.chunk->at(static_cast<std::size_t>(d));
  for_each_brick(aligned, *layout_.chunk, [&](const Box& chunk) { each(intersection(chunk, box)); });
}

// The chunk that contains the part; at the end of the dataset it extends beyond.
Box CompressedChunks::frame_of(const Box& part) const {
  Box frame = part;
  for (int d = 0; d < part.ndims; ++d) {
    const std::int64_t extent = layout_.chunk->at(static_cast<std::size_t>(d));
    frame.low[d] -= part.low[d] % extent;
    frame.high[d] = frame.low[d] + extent;
  }
  return frame;
}

const std::byte* CompressedChunks::read(const Box& box) {
  const Box frame = frame_of(box);
  if (frame == box) {
    decompress(frame);
    return values_;
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(box)), layout_.element_bytes, &bytes))
    refuse("is larger than the memory");
  std::byte* const to = gathered_.at_least(bytes);
  for_each_part(box, [&](const Box& part) {
    decompress(frame_of(part));
    copy_region({to, box}, {values_, frame_}, part, layout_.element_bytes);
  });
  return to;
}

void CompressedChunks::decompress(const Box& frame) {
  if (values_ != nullptr && frame == frame_) return;
  values_ = nullptr;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(frame)), layout_.element_bytes, &bytes))
    refuse("is larger than the memory");
  Sizes start = {};
  for (int d = 0; d < frame.ndims; ++d) start[d] = static_cast<hsize_t>(frame.low[d]);
  hsize_t stored_bytes = 0;
  checked(H5Dget_chunk_storage_size(dataset_.id(), start.data(), &stored_bytes), "find a chunk of", path_);
  if (stored_bytes == 0) refuse("is not in the file");
  if (stored_bytes > max_stored(bytes)) refuse("has more bytes in the file than its values");
  std::uint32_t skipped = 0;  // one bit per filter
  checked(H5Dread_chunk(dataset_.id(), H5P_DEFAULT, start.data(), &skipped, stored_.at_least(stored_bytes)), "read a chunk of",
          path_);
  const std::byte* const values = decoded(stored_bytes, skipped, bytes);
  const bool is_shuffled = layout_.is_shuffled && (skipped & 1U) == 0;
  if (is_shuffled)
    codec::unshuffle(values, static_cast<std::size_t>(volume(frame)), layout_.element_bytes, unshuffled_.at_least(bytes));
  values_ = is_shuffled ? unshuffled_.get() : values;
  frame_ = frame;
}

const std::byte* CompressedChunks::decoded(std::size_t stored_bytes, std::uint32_t skipped, std::size_t bytes) {
  const std::uint32_t codec_bit = layout_.is_shuffled ? 2U : 1U;
  if (!layout_.codec || (skipped & codec_bit) != 0) {
    if (stored_bytes != bytes) refuse("does not have as many bytes as its values");
    return stored_.get();
  }
  if (!codec::decode(*layout_.codec, stored_.get(), stored_bytes, decoded_.at_least(bytes), bytes))
    refuse("is damaged: it does not decompress to the " + std::to_string(bytes) + " bytes of its values");
  return decoded_.get();
}

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
  select(file, {}, brick);
  make_room(values, brick, H5Tget_size(type.id()));
  checked(H5Dread(dataset.id(), type.id(), memory.id(), file.id(), H5P_DEFAULT, values.data()), "read", path);
}

// The checksum of the bricks of `part` in order.
std::uint32_t checksum_of(const Dataset& dataset, const std::string& path, const StoredLayout& layout, const Box& part,
                          const Extents& brick_extents) {
  const Type type(H5Dget_type(dataset.id()), "inspect a dataset");
  require_plain(type);
  if (volume(part) > 0 && H5Dget_storage_size(dataset.id()) == 0) throw Failure("the file has no value of it", 0);
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

}  // namespace

std::uint32_t checksum_of_values(const Dataset& dataset, const std::string& path) {
  const StoredLayout layout = layout_of(dataset, path);
  return checksum_of(dataset, path, layout, layout.whole,
                     layout.chunk ? *layout.chunk : brick_extents(layout.whole, layout.element_bytes));
}

std::uint32_t checksum_of_part(const File& file, const manifest::DatasetEntry& dataset, const Box& part) {
  Box within = part;
  for (int d = 0; d < part.ndims; ++d) {
    const std::int64_t start = dataset.start ? dataset.start->at(static_cast<std::size_t>(d)) : 0;
    within.low[d] += start - dataset.box.low[d];
    within.high[d] += start - dataset.box.low[d];
  }
  const Dataset found = open_dataset(file, dataset.path);
  const StoredLayout layout = layout_of(found, dataset.path);
  if (layout.whole.ndims != within.ndims || !(intersection(within, layout.whole) == within))
    throw Failure("it is smaller than when it was stored", 0);
  return checksum_of(found, dataset.path, layout, within, brick_extents(within, layout.element_bytes));
}

std::uint32_t checksum_of(const File& file, const manifest::DatasetEntry& dataset) {
  if (dataset.start) return checksum_of_part(file, dataset, dataset.box);
  const Dataset found = open_dataset(file, dataset.path);
  if (!has_extents(layout_of(found, dataset.path).whole, dataset.box))
    throw Failure("it has other extents than in the manifest", 0);
  return checksum_of_values(found, dataset.path);
}

}  // namespace damaris::hdf5
