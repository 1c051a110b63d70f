#include "open_stored.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "../file/library.hpp"
#include "stored_layout.hpp"

namespace damaris::hdf5 {
namespace {

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

Properties without_locks() {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
  checked(H5Pset_fapl_sec2(access.id()), "read it as a file of the system");  // whatever HDF5_DRIVER says
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  checked(H5Pset_file_locking(access.id(), false, true), "do without the file's lock");
#endif
  return access;
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// The name by which HDF5 opens the file of a descriptor, whatever has its path by now; the path where no /proc shows that.
std::string name_of(int descriptor, const struct stat& looked_at, const std::string& path) {
  const std::string by_number = "/proc/self/fd/" + std::to_string(descriptor);
  struct stat there = {};
  return ::stat(by_number.c_str(), &there) == 0 && is_same_file(there, looked_at) ? by_number : path;
}

struct stat opened_by(const File& file, const std::string& path) {
  void* descriptor = nullptr;
  checked(H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &descriptor), "look at", path);
  struct stat info = {};
  if (::fstat(*static_cast<const int*>(descriptor), &info) != 0) throw_system_failure(errno, "look at", path);
  return info;
}

}  // namespace

// The file that was looked at: another one may have taken its name meanwhile.
File open_stored(const std::string& path) {
  const StoredFileReader file(path);
  require_open(file, path);
  struct stat looked_at = {};
  if (::fstat(file.descriptor(), &looked_at) != 0) throw_system_failure(errno, "look at", path);
  const std::string name = name_of(file.descriptor(), looked_at, path);
  File opened(H5Fopen(name.c_str(), H5F_ACC_RDONLY, without_locks().id()), "open as an HDF5 file", path);
  if (!is_same_file(opened_by(opened, path), looked_at)) throw Failure(path + " was replaced while it was opened", 0);
  return opened;
}

Dataset open_dataset(const File& file, const std::string& path) {
  const Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_ACCESS)), "make a dataset's properties");
  checked(H5Pset_elink_cb(access.id(), refuse_link, nullptr), "refuse links to other files");
  Dataset dataset(H5Dopen2(file.id(), path.c_str(), access.id()), "open the dataset", path);
  const Properties made(H5Dget_create_plist(dataset.id()), "look at a dataset");
  if (H5Pget_layout(made.id()) == H5D_VIRTUAL || H5Pget_external_count(made.id()) != 0)
    throw Failure("the values of " + path + " are in another file, where Damaris puts none", 0);
  layout_of(dataset, path);
  return dataset;
}

}  // namespace damaris::hdf5
