#include "handle.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace damaris::hdf5 {
namespace {

struct Cause {
  std::string text;
  int system_error = 0;
};

// HDF5 includes errno in the text of the level that made the system call: "... errno = 28, error message = '...', ...".
int errno_in(const char* text) {
  constexpr char kMark[] = "errno = ";
  const char* found = std::strstr(text, kMark);
  return found == nullptr ? 0 : std::atoi(found + sizeof kMark - 1);
}

// Called from the innermost level outwards; the innermost text is the most specific.
herr_t visit_error(unsigned level, const H5E_error2_t* error, void* data) {
  Cause& cause = *static_cast<Cause*>(data);
  const char* text = error->desc == nullptr ? "" : error->desc;
  if (level == 0) cause.text = text;
  if (cause.system_error == 0) cause.system_error = errno_in(text);
  return 0;
}

Cause cause_of_last_failure() {
  Cause cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, visit_error, &cause);
  if (cause.system_error != 0) cause.text = std::strerror(cause.system_error);
  if (cause.text.empty()) cause.text = "HDF5 gives no reason";
  return cause;
}

}  // namespace

void throw_hdf5_failure(const char* doing, const std::string& object) {
  const Cause cause = cause_of_last_failure();
  throw Failure(std::string("cannot ") + doing + (object.empty() ? "" : " " + object) + ": " + cause.text, cause.system_error);
}

hid_t library_id(const hid_t& seen, const char* name) {
  checked(H5open(), "start the HDF5 library");
  if (seen > 0) return seen;
  // The program's own symbols; RTLD_DEFAULT would search this plugin's scope first.
  void* program = ::dlopen(nullptr, RTLD_NOW | RTLD_NOLOAD);
  const auto* copied = static_cast<const hid_t*>(program == nullptr ? nullptr : ::dlsym(program, name));
  if (copied != nullptr && *copied > 0) return *copied;
  throw Failure(std::string("HDF5 has not set ") + name + "; does the program link another libhdf5 of the same name?", 0);
}

namespace {

// HDF5's internal function is in no header, but in every version of the library; does nothing if it is not found. A recorder does not wrap
// H5open.
void forget(hid_t id) {
  using Remove = void* (*)(hid_t);
  Dl_info library = {};
  if (::dladdr(reinterpret_cast<void*>(&H5open), &library) == 0) return;
  void* loaded = ::dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return;
  if (const auto remove = reinterpret_cast<Remove>(::dlsym(loaded, "H5I_remove"))) remove(id);
  ::dlclose(loaded);
}

}  // namespace

herr_t close_or_forget(herr_t (*close)(hid_t), hid_t id) {
  const herr_t closed = close(id);
  if (closed >= 0) return closed;
  const hid_t cause = H5Eget_current_stack();  // any other call would clear it
  if (H5Iis_valid(id) > 0) forget(id);
  H5Eset_current_stack(cause);
  return closed;
}

}  // namespace damaris::hdf5
