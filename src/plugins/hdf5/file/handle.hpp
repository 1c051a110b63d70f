// HDF5 identifiers that close themselves.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: a call of HDF5 that opens something. After it: the matching close.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "hdf5_failure.hpp"

namespace damaris::hdf5 {

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
