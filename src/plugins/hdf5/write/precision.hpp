// Rounds values or quantizes them to 16 bits before they are compressed. Chooses scale and offset of variables for which the XML gives
// none, and keeps them as long as they are adequate.
// Used by: the hdf5 plugin; plan on the server's work thread, apply on its workers.
// Before it: the variable's `reduce`. After it: dataset_writer.hpp, which stores the values and records the reduction in the manifest.
#pragma once

#include <damaris/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "../layout/pieces.hpp"
#include "codec/rounding.hpp"

namespace damaris::hdf5 {

class Float16Scales {
 public:
  // Returns the variable's previous scaling if nothing overflows with it and its largest error is at most twice that of an optimal scaling
  // for this range; else that optimal scaling, which is kept. Ranges of zeros, of no finite values, or beyond every scale do not affect
  // later choices.
  codec::Scaling choose(std::uint32_t variable, const codec::Range<double>& range);

 private:
  std::map<std::uint32_t, codec::Scaling> chosen_;  // by id
};

// Values that cannot be stored as declared in the XML. Thrown before anything of the dataset is in the file; other datasets are stored.
class NotStorable : public Error {
 public:
  explicit NotStorable(const std::string& sentence) : Error(DC_E_IO, sentence) {}
};

struct Precision {
  dc_precision kind = DC_EXACT;
  dc_type type = DC_ANY;          // of the values
  std::size_t element_bytes = 0;  // as stored
  codec::ErrorBound bound;
  codec::Scaling scaling;
  bool overflows = false;  // 16 bits are declared but cannot hold the values, which keep their type
};

// Determines the range of all values if 16 bits are declared. Throws NotStorable if they overflow the declared scale and may not keep their
// type.
Precision plan_precision(const Piece& piece, Staging& staging, Float16Scales& scales);

// Converts `count` values from `in` to `out`, with element_bytes each. Threads: any; pure. Returns the largest error, of the bound's kind,
// or absolute for 16 bits.
double apply(const Precision& precision, const void* in, std::size_t count, void* out);

}  // namespace damaris::hdf5
