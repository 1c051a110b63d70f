// What the values of a piece become before they are compressed: rounded, quantized to 16 bits, or unchanged; and the scale and offset of each
// variable for which the XML gives none, the same for as long as they are good.
// Used by: the hdf5 plugin; plan on the server's dispatch thread, apply on its workers.
// Before it: the variable's `reduce`. After it: chunk_writer.hpp stores the values and enters what was done into the manifest.
#pragma once

#include <damaris/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "../layout/gather.hpp"
#include "codec/half.hpp"
#include "codec/rounding.hpp"

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

// Values that cannot be stored as the XML asks. Thrown before anything of the dataset is in the file: the other ones are stored.
class Refused : public Error {
 public:
  explicit Refused(const std::string& sentence) : Error(DC_E_IO, sentence) {}
};

struct Precision {
  dc_precision kind = DC_EXACT;
  dc_type type = DC_ANY;          // of the values
  std::size_t element_bytes = 0;  // as stored
  codec::ErrorBound bound;
  codec::Scaling scaling;
  bool overflows = false;  // 16 bits were asked for and cannot hold the values: they keep their type
};

// Looks at all values where 16 bits are asked for. Throws Refused when they overflow the scale that the XML gives
// and may not keep their type.
Precision plan_precision(const Piece& piece, Staging& staging, Float16Scales& scales);

// `count` values from `in` to `out`, of element_bytes each. Threads: any; pure. Returns the largest error, of the kind of the bound;
// for 16 bits absolute.
double apply(const Precision& precision, const void* in, std::size_t count, void* out);

}  // namespace damaris::hdf5
