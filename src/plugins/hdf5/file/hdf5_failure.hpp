// The one place where a failed call of HDF5 becomes a Failure, with the cause in plain words.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: any call of HDF5. After it: storage.cpp makes the user's sentence of it.
#pragma once

#include <hdf5.h>

#include <string>

#include "core/base/failure.hpp"

namespace damaris::hdf5 {

// Throws what HDF5 says of its last failed call.
[[noreturn]] void throw_hdf5_failure(const char* doing, const std::string& object);

// Hands the result of an HDF5 call on, or throws: checked(H5Dwrite(...), "write the dataset", path).
template <class Result>
Result checked(Result result, const char* doing, const std::string& object = {}) {
  if (result < 0) throw_hdf5_failure(doing, object);
  return result;
}

// Keeps HDF5 from printing while it lives. The setting may be shared with the application (in place), so it is put back.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace damaris::hdf5
