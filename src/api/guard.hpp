// The guard at the C edge, one for each C function.
// Used by: c_interface.cpp and the MPI start.
#pragma once

#include <new>

#include "api/session.hpp"

namespace damaris::api {

template <class Call>
int guard(Call&& call) noexcept {
  try {
    return call();
  } catch (const Error& error) {
    return remember(error.code(), error.sentence());
  } catch (const std::bad_alloc&) {
    return remember(DC_E_MEMORY, "the process is out of memory");
  } catch (const std::exception& error) {
    return remember(DC_E_INTERNAL, std::string("a fault inside Damaris, please report it: ") + error.what());
  } catch (...) {
    return remember(DC_E_INTERNAL, "a fault inside Damaris, please report it: an exception of unknown type");
  }
}

}  // namespace damaris::api
