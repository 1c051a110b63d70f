// Wrappers for all calls of HDF5: a failure becomes a Failure with its cause, identifiers are closed automatically, and those that HDF5
// keeps in variables (such as H5T_NATIVE_INT) are looked up in the right symbol scope.
// Used by: the hdf5 plugin, on the server's work thread; `damaris verify`.
// Before it: any call of HDF5. After it: storage.cpp, which turns a Failure into the user's message.
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

// Throws a Failure with HDF5's description of its last failed call.
[[noreturn]] void throw_hdf5_failure(const char* doing, const std::string& object);

// Returns the result of an HDF5 call, or throws: checked(H5Dwrite(...), "write the dataset", path).
template <class Result>
Result checked(Result result, const char* doing, const std::string& object = {}) {
  if (result < 0) throw_hdf5_failure(doing, object);
  return result;
}

// Suppresses HDF5's error output for its lifetime. Restores the setting, which the application may share (in place).
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

// A program that links the same libhdf5 may contain copies of its variables (copy relocations). The library then sets those, while this
// plugin, with its own symbol scope, sees the library's originals, which stay unset. Returns the one that is set.
hid_t library_id(const hid_t& seen, const char* name);

// Closes `id` and returns the result of `close`. HDF5 1.10 frees an object that it cannot write but keeps its identifier, closes it again
// at the end (at the latest in MPI_Finalize), and crashes; so this removes the identifier.
herr_t close_or_forget(herr_t (*close)(hid_t), hid_t id);

// Owns one identifier. Construct it from the result of the call that opened it: Dataset set(H5Dcreate2(...), "create the dataset", path).
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

  // For objects that write when closed. Afterwards the handle is empty, even if this throws.
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
