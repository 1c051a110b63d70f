// Every call of HDF5 goes through here: a failed one becomes a Failure with the cause in plain words, identifiers close themselves, and those
// that HDF5 keeps in variables (H5T_NATIVE_INT and its like) are found wherever the process has them.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: any call of HDF5. After it: storage.cpp makes the user's sentence of a Failure.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "core/base/failure.hpp"

// DAMARIS_HDF5_ID(H5T_NATIVE_INT) instead of H5T_NATIVE_INT.
#define DAMARIS_HDF5_ID(name) damaris::hdf5::library_id(name##_g, #name "_g")
// DAMARIS_HDF5_CLASS(FILE_ACCESS) instead of H5P_FILE_ACCESS.
#define DAMARIS_HDF5_CLASS(name) DAMARIS_HDF5_ID(H5P_CLS_##name##_ID)

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

// A program that links the same libhdf5 may have copied its variables into itself (a copy relocation): the library then sets the
// program's, while this plugin, in a symbol scope of its own, sees the library's, which stay unset. Takes the one that is set.
hid_t library_id(const hid_t& seen, const char* name);

// Closes `id` and returns what `close` returned. HDF5 1.10 frees an object that it cannot write and yet keeps its identifier, which it
// closes once more at its end (in MPI_Finalize, if not before), and that ends the process: so the identifier goes here.
herr_t close_or_forget(herr_t (*close)(hid_t), hid_t id);

// Owns one identifier. Made from the result of the call that opened it: Dataset set(H5Dcreate2(...), "create the dataset", path).
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle(hid_t id, const char* doing, const std::string& object = {}) : id_(checked(id, doing, object)) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_or_forget(Close, id_);
  }

  hid_t id() const { return id_; }

  // For objects whose closing writes: after it the handle is empty, also when it threw.
  void close(const char* doing, const std::string& object = {}) {
    checked(close_or_forget(Close, std::exchange(id_, H5I_INVALID_HID)), doing, object);
  }

 private:
  hid_t id_;
};

using File = Handle<H5Fclose>;
using Dataset = Handle<H5Dclose>;
using Attribute = Handle<H5Aclose>;
using Type = Handle<H5Tclose>;
using Space = Handle<H5Sclose>;
using Properties = Handle<H5Pclose>;

}  // namespace damaris::hdf5
