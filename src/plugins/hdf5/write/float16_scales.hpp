// The scale and offset of each variable of 16 bits for which the XML gives none: the same for as long as they are good.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: the range of a block. After it: precision.hpp; the views show what has one scale and offset as one array in time.
#pragma once

#include <cstdint>
#include <map>

#include "codec/half.hpp"

namespace damaris::hdf5 {

class Float16Scales {
 public:
  // That of the variable before while nothing overflows with it and the largest error is at most twice that of one made for this range;
  // else this one, from now on. Zeros, values that are not finite, and those that no scale holds choose nothing for what
  // comes later.
  codec::Scaling choose(std::uint32_t variable, const codec::Range<double>& range);

 private:
  std::map<std::uint32_t, codec::Scaling> chosen_;  // by id
};

}  // namespace damaris::hdf5
