#include "hdf5_file.hpp"

#include <cerrno>

#include "../layout/memory.hpp"
#include "file_driver.hpp"
#include "library.hpp"
#include "new_dataset.hpp"

namespace damaris::hdf5 {
namespace {

constexpr hsize_t kAlignedFrom = hsize_t{256} << 10, kPage = 4096;  // bytes

Properties access_properties(WriteTarget& target) {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  // Compact groups, and attributes larger than 64 KiB (lists of many clients); readable since HDF5 1.8.
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  // Whole pages: the kernel copies them faster than parts.
  checked(H5Pset_alignment(access.id(), kAlignedFrom, kPage), "set the file's alignment");
  use_target(access, target);
  return access;
}

hid_t open_file(const std::string& path, Hdf5File::Mode mode, const Properties& access) {
  require_memory_for_file(path);
  return mode == Hdf5File::Mode::create ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id())
                                        : H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id());
}

}  // namespace

Hdf5File::Hdf5File(int descriptor, const std::string& path, Mode mode)
    : path_(path),
      target_(descriptor),
      file_(open_file(path, mode, access_properties(target_)), "open as an HDF5 file", path),
      links_(link_properties()),
      contiguous_(contiguous_properties()) {}

void Hdf5File::check() const {
  if (target_.error() != 0) throw_system_failure(target_.error(), "write to", path_);
}

void Hdf5File::close() {
  file_.close("close", path_);
  target_.trim();
  check();
}

std::uint32_t Hdf5File::checksum() {
  std::uint32_t checksum = 0;
  if (!target_.checksum(checksum)) throw_system_failure(EIO, "read again", path_);
  return checksum;
}

}  // namespace damaris::hdf5
