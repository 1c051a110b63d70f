#include "core/base/error.hpp"

#include <exception>
#include <new>

#include "core/base/failure.hpp"
#include "core/base/format.hpp"

namespace damaris {
namespace {

const char* usage_text(int code) noexcept {
  switch (code) {
    case DC_E_NOT_INITIALIZED:
      return "not initialized";
    case DC_E_ALREADY_INITIALIZED:
      return "already initialized";
    case DC_E_ARGUMENT:
      return "invalid argument";
    case DC_E_UNKNOWN_NAME:
      return "unknown name";
    case DC_E_TYPE:
      return "wrong element type";
    case DC_E_SHAPE:
      return "wrong shape";
    case DC_E_DUPLICATE:
      return "written twice";
    case DC_E_BACKWARD:
      return "step goes backward";
    case DC_E_NOT_ALLOCATED:
      return "not allocated";
    case DC_E_NOT_COMMITTED:
      return "never committed";
    case DC_E_NOT_ENDED:
      return "step not ended";
    case DC_E_NO_MPI:
      return "needs MPI";
    case DC_E_THREADS:
      return "too many threads";
    case DC_E_FORKED:
      return "called in a fork";
    default:
      return nullptr;
  }
}

const char* config_text(int code) noexcept {
  switch (code) {
    case DC_E_CONFIG:
      return "invalid configuration";
    case DC_E_CONFIG_MISMATCH:
      return "configurations differ";
    case DC_E_PLACEMENT:
      return "too many dedicated cores";
    case DC_E_STALE_REGION:
      return "region of a dead job holds data";
    case DC_E_REGION_IN_USE:
      return "region is in use";
    case DC_E_VERSION:
      return "versions differ";
    default:
      return nullptr;
  }
}

const char* other_text(int code) noexcept {
  switch (code) {
    case DC_OK:
      return "success";
    case DC_N_SKIPPED:
      return "variable is skipped in this step";
    case DC_N_DROPPED:
      return "step is dropped";
    case DC_N_PLUGIN:
      return "a plugin failed and is switched off";
    case DC_N_VIEWS_FOLLOW:
      return "the views of the run follow";
    case DC_N_NOT_DUE:
      return "variable is not due in this step";
    case DC_N_DISABLED:
      return "variable is disabled";
    case DC_E_TOO_LARGE:
      return "dataset too large";
    case DC_E_ITERATION_TOO_LARGE:
      return "step too large";
    case DC_E_FULL:
      return "buffer full";
    case DC_E_SHM:
      return "no shared memory";
    case DC_E_MEMORY:
      return "out of memory";
    case DC_E_TIMEOUT:
      return "timed out";
    case DC_E_IO:
      return "input/output error";
    case DC_E_EARLIER_IO:
      return "an earlier step failed";
    case DC_E_NO_OUTPUT:
      return "output folder not usable";
    case DC_E_NOT_STORED:
      return "not stored";
    case DC_E_PLUGIN:
      return "plugin failed";
    case DC_E_SERVER_LOST:
      return "server lost";
    case DC_E_CLIENT_LOST:
      return "client lost";
    case DC_E_STOPPED:
      return "server asked to stop";
    case DC_E_INTERNAL:
      return "internal error";
    default:
      return "unknown code";
  }
}

}  // namespace

const char* code_text(int code) noexcept {
  if (const char* text = usage_text(code)) return text;
  if (const char* text = config_text(code)) return text;
  return other_text(code);
}

// "out of memory" fits into a string without an allocation.
Status thrown_status() noexcept {
  int code = DC_E_INTERNAL;
  try {
    try {
      throw;
    } catch (const Error& error) {
      code = error.code();
      return {code, error.sentence()};
    } catch (const std::bad_alloc&) {
      return {DC_E_MEMORY, "out of memory"};
    } catch (const std::exception& error) {
      return {code, format("a fault inside Damaris, please report it: {}", error.what())};
    } catch (...) {
      return {code, "a fault inside Damaris, please report it: an exception of unknown type"};
    }
  } catch (...) {
    return {code, {}};
  }
}

Error system_error(dc_code code, const std::string& what, int errno_value, const std::string& remedy) {
  return Error(code, format("{}: {}; {}", what, text_of_errno(errno_value), remedy));
}

}  // namespace damaris
