// All that the storage wants to know of values before it writes them, in one pass: memory that is in no cache is read once.
// Used by: the server's dispatch thread and its workers.
// Before it: values where the simulation put them. After it: the manifest, the index beside the dataset, the write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "range.hpp"
#include "simd.hpp"

namespace damaris::codec {

template <class T>
struct Look {
  std::uint32_t checksum = 0;  // as crc32() takes it
  Range<T> range;              // as range_of() finds it
};

// T: as for range_of. Units: `count` values. Threads: any; pure.
template <class T>
Look<T> look_at(const T* values, std::size_t count, Simd simd = best_simd()) noexcept;

}  // namespace damaris::codec
