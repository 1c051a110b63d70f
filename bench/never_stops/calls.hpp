// What the parts of bench never-stops call and clean up alike.
// Used by: bench never-stops, one thread.
// Before it: a client that has started. After it: nothing, or Error with the message of dc_last_error.
#pragma once

#include <damaris/damaris.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/error.hpp"

namespace damaris::bench {

constexpr int kFlushMs = 300'000;

inline void check(int code) {
  if (code < 0) throw Error(static_cast<dc_code>(code), dc_last_error());
}

inline dc_variable_t* handle_of(const std::string& name) {
  dc_variable_t* variable = nullptr;
  check(dc_variable(name.c_str(), &variable));
  return variable;
}

// What is stored is not needed.
inline void remove_step_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".h5") std::filesystem::remove(entry.path(), ignored);
}

}  // namespace damaris::bench
