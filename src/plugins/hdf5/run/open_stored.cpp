#include "open_stored.hpp"

#include "../file_sum.hpp"
#include "../library.hpp"
#include "stored_layout.hpp"

namespace damaris::hdf5 {
namespace {

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

Properties without_locks() {
  Properties access(H5Pcreate(DAMARIS_HDF5_CLASS(FILE_ACCESS)), "make the file's properties");
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  checked(H5Pset_file_locking(access.id(), false, true), "do without the file's lock");
#endif
  return access;
}

}  // namespace

// Through the descriptor: another file may have taken the name of the one that was looked at.
File open_stored(const std::string& path) {
  const ReadDescriptor looked_at(path);
  return File(H5Fopen(("/proc/self/fd/" + std::to_string(looked_at.number())).c_str(), H5F_ACC_RDONLY, without_locks().id()),
              "open as an HDF5 file", path);
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
