// The floating-point environment that Damaris' own work is done in, whatever the program has set: rounding to nearest, no traps,
// denormals as they are.
// Used by: every entry from the simulation that may compute (the C interface), and every call of a plugin; new threads inherit it.
// Before it: the simulation, or a library that was built with -ffast-math. After it: codecs, HDF5, plugins.
#pragma once

#include <cfenv>

namespace damaris {

// Takes about 100 ns: not for the path of a write.
class CalmFloat {
 public:
  CalmFloat() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  // Exceptions that were raised meanwhile are forgotten: flags, traps and modes are the program's again.
  ~CalmFloat() { std::fesetenv(&before_); }
  CalmFloat(const CalmFloat&) = delete;
  CalmFloat& operator=(const CalmFloat&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace damaris
