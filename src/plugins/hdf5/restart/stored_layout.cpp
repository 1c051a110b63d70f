#include "stored_layout.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"

namespace damaris::hdf5 {
namespace {

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

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
  checked(H5Pset_elink_cb(access.id(), refuse_link, nullptr), "refuse links to other files");
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
  layout.element_bytes = H5Tget_size(Type(H5Dget_type(dataset.id()), "inspect the type of", path).id());
  const Properties made(H5Dget_create_plist(dataset.id()), "inspect the layout of", path);
  // HDF5 1.10 reads as many bytes as the extents imply, even if fewer exist.
  if (H5Pget_layout(made.id()) == H5D_COMPACT) refuse(path, "has its values in its header, which Damaris never writes");
  if (H5Pget_layout(made.id()) == H5D_CHUNKED) layout.chunk = chunk_of(made, layout.whole, path);
  const auto filters = static_cast<unsigned>(checked(H5Pget_nfilters(made.id()), "inspect the filters of", path));
  for (unsigned i = 0; layout.chunk && i < filters; ++i)
    if (!take_filter(made, i, layout)) refuse(path, "has filters that Damaris does not write");
  return layout;
}

}  // namespace damaris::hdf5
