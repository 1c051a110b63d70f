// One HDF5 identifier, closed with its owner; and the sentence for what HDF5 refuses.
// Used by: the ways that write files, one thread.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace damaris::bench {

// Throws Error(DC_E_IO) for a negative `result`; HDF5 has printed its own messages by then.
template <class Result>
Result need(Result result, const std::string& action) {
  if (result < 0) throw Error(DC_E_IO, "cannot " + action + "; look at HDF5's messages above, and at the room in --folder");
  return result;
}

class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close, const std::string& action) : id_(need(id, action)), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  // With an answer, where what HDF5 holds back is written only now.
  void close(const std::string& action) { need(close_(std::exchange(id_, H5I_INVALID_HID)), action); }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

inline Handle property_list(hid_t kind) { return {H5Pcreate(kind), H5Pclose, "make a property list"}; }

}  // namespace damaris::bench
