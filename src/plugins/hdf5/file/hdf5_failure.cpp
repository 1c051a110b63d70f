#include "hdf5_failure.hpp"

#include <cstdlib>
#include <cstring>

namespace damaris::hdf5 {
namespace {

struct Cause {
  std::string text;
  int system_error = 0;
};

// HDF5 prints errno into the text of the level that called the system: "... errno = 28, error message = '...', ...".
int errno_in(const char* text) {
  constexpr char kMark[] = "errno = ";
  const char* found = std::strstr(text, kMark);
  return found == nullptr ? 0 : std::atoi(found + sizeof kMark - 1);
}

// Called from the innermost level outwards; the first says most.
herr_t look_at(unsigned level, const H5E_error2_t* error, void* data) {
  Cause& cause = *static_cast<Cause*>(data);
  const char* text = error->desc == nullptr ? "" : error->desc;
  if (level == 0) cause.text = text;
  if (cause.system_error == 0) cause.system_error = errno_in(text);
  return 0;
}

Cause cause_of_last_failure() {
  Cause cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at, &cause);
  if (cause.system_error != 0) cause.text = std::strerror(cause.system_error);
  if (cause.text.empty()) cause.text = "HDF5 gives no reason";
  return cause;
}

}  // namespace

void throw_hdf5_failure(const char* doing, const std::string& object) {
  const Cause cause = cause_of_last_failure();
  throw Failure(std::string("cannot ") + doing + (object.empty() ? "" : " " + object) + ": " + cause.text, cause.system_error);
}

}  // namespace damaris::hdf5
