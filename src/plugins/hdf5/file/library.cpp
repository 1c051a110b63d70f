#include "library.hpp"

#include <dlfcn.h>

#include "hdf5_failure.hpp"

namespace damaris::hdf5 {

hid_t library_id(const hid_t& seen, const char* name) {
  checked(H5open(), "start the HDF5 library");
  if (seen > 0) return seen;
  // The program's own symbols; RTLD_DEFAULT would look into this plugin's scope first.
  void* program = ::dlopen(nullptr, RTLD_NOW | RTLD_NOLOAD);
  const auto* copied = static_cast<const hid_t*>(program == nullptr ? nullptr : ::dlsym(program, name));
  if (copied != nullptr && *copied > 0) return *copied;
  throw Failure(std::string("HDF5 has not set ") + name + "; does the program link another libhdf5 of the same name?", 0);
}

}  // namespace damaris::hdf5
