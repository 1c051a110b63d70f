#include "hdf5_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "library.hpp"

namespace damaris::hdf5 {
namespace {

Properties access_properties() {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  // Compact groups, and attributes larger than 64 KiB (lists of many clients); readable since HDF5 1.8.
  checked(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_LATEST), "set the file's version");
  // The file is ours alone until it gets its name, and some parallel file systems have no locks.
  checked(H5Pset_file_locking(access.id(), false, true), "switch file locking off");
  checked(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "set the file's close degree");
  return access;
}

}  // namespace

Hdf5File::Hdf5File(const std::string& path)
    : path_(path),
      file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_properties().id()), "open as an HDF5 file", path) {}

Hdf5File::~Hdf5File() {
  if (open_) give_up();
}

void Hdf5File::close() {
  // Flushed first: after a failed close HDF5 keeps the file half open, after a failed flush it can still be given up.
  checked(H5Fflush(id(), H5F_SCOPE_LOCAL), "write to", path_);
  open_ = false;
  file_.close("close", path_);
}

// On a full disk closing fails for ever: HDF5 keeps the file, its memory and its descriptor until the end of the process, and
// complains there once more. So what is left to write goes to memory that is thrown away.
void Hdf5File::give_up() {
  void* handle = nullptr;
  if (H5Fget_vfd_handle(id(), H5P_DEFAULT, &handle) < 0) return;
  const int nowhere = ::memfd_create("damaris_given_up", MFD_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, *static_cast<int*>(handle));
  ::close(nowhere);
}

}  // namespace damaris::hdf5
