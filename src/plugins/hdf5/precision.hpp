// What the values of a piece become before they are packed: rounded, 16 bits wide, or nothing else.
// Used by: the hdf5 plugin; plan on the server's dispatch thread, apply on its workers.
// Before it: the variable's `reduce`. After it: chunk_writer.hpp stores the values and tells what was done.
#pragma once

#include <cstddef>

#include "packings.hpp"
#include "piece_memory.hpp"
#include "plugins/reduce/half.hpp"
#include "plugins/reduce/rounding.hpp"

namespace damaris::hdf5 {

struct Precision {
  dc_precision kind = DC_EXACT;
  dc_type type = DC_ANY;          // of the values
  std::size_t element_bytes = 0;  // as stored
  reduce::ErrorBound bound;
  reduce::Packing packing;
  bool overflows = false;  // 16 bits were asked for and cannot hold the values: they keep their type
};

// Looks at all values where 16 bits are asked for. Throws damaris::Error(DC_E_IO) when they overflow and may not be kept.
Precision plan_precision(const Piece& piece, Staging& staging, Packings& packings);

// `count` values from `in` to `out`, of element_bytes each. Threads: any; pure. Returns the largest error, of the kind of the bound;
// for 16 bits absolute.
double apply(const Precision& precision, const void* in, std::size_t count, void* out);

}  // namespace damaris::hdf5
