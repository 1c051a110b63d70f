// Work that a recorder in this process shows as a call of the layer `server`. Without a recorder it is just done.
// Used by: the plugin host, around each callback; the hdf5 plugin, around each dataset; a session, which tells who it is.
// Before it: `damaris record`, which preloads the recorder. After it: trace/region.hpp.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <exception>

#include "trace/region.hpp"
#include "trace/slot.hpp"

namespace damaris {

// nullptr without a recorder.
inline trace::RunRegion* find_recorder() noexcept {
  static const auto found = reinterpret_cast<trace::RunRegion*>(::dlsym(RTLD_DEFAULT, trace::kRunRegion));
  return found;
}
// -1: a server.
inline void tell_recorder_client(int id, std::uint64_t run) noexcept {
  const auto tell = reinterpret_cast<trace::TellClient*>(::dlsym(RTLD_DEFAULT, trace::kTellClient));
  if (tell != nullptr) tell(id, run);
}

// Returns what `body` returns, negative for a failure, or throws what it throws.
template <class Body>
int observed(const trace::Region& region, Body&& body) {
  trace::RunRegion* const run = find_recorder();
  if (run == nullptr) return body();
  struct Context {
    Body& body;
    std::exception_ptr thrown;
  } context = {body, nullptr};
  const auto call = [](void* argument) noexcept {
    auto& mine = *static_cast<Context*>(argument);
    try {
      return static_cast<int>(mine.body());
    } catch (...) {
      mine.thrown = std::current_exception();
      return -1;
    }
  };
  const int result = run(&region, call, &context);
  if (context.thrown) std::rethrow_exception(context.thrown);
  return result;
}

}  // namespace damaris
